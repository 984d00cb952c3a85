/** sallyport policy names: the names that may stand at a place of a file. */
import type { Command } from 'commander'
import { printNote, printReport } from '../../present/print.ts'
import { MATRICES, POLICIES, SCHEMAS, settingsWith, TEXT_OR_JSON, withHelp } from '../options.ts'

export function declareNames(policy: Command): void {
  withHelp(policy.command('names'), {
    about: 'list the names that may stand at a place of a file, as editors offer them',
    note: `Lines and columns count from 1. In JSON, place and length say what a chosen name replaces.

Exit code: 0, or 2 when it could not run.`,
    examples: [
      'policy names policies/policy.csv:23:4',
      'policy names new/views.yaml:3:9 --policies new --before policies',
    ],
  })
    .argument('<place>', 'FILE:LINE:COLUMN, in a file of the policy, the schemas or the matrices')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MATRICES)
    .option('--before <directory>', 'a policy whose names count where a file has faults')
    .addOption(TEXT_OR_JSON)
    .action(async (place, { before, format, ...flags }) => {
      const { NAMES_FORMATS, namesAt } = await import('../../lsp/names-at.ts')
      const { policies, schemas, matrices } = await settingsWith(flags)
      const found = await namesAt({ place, before, policies, schemas, matrices })
      printReport(format, NAMES_FORMATS[format](found))
      if (found.offers.length === 0) printNote('no name is known that may stand there\n')
    })
}
