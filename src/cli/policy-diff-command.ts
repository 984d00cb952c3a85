/** sallyport policy diff: what two versions of the policy mean differently. */
import { Command, Option } from 'commander'
import { print } from '../present/print.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import { AT, timeOf } from '../tools/at.ts'
import { FAIL_ON, fails, type Report, reportOn } from '../tools/diff/compare-policies.ts'
import { formatJson } from '../tools/diff/format-json.ts'
import { formatMarkdown } from '../tools/diff/format-markdown.ts'
import { formatText } from '../tools/diff/format-text.ts'
import { readSide } from '../tools/diff/revision.ts'
import type { ReviewFolders } from './policy-command.ts'

const FORMATS = { text: formatText, json: formatJson, markdown: formatMarkdown } as const

interface Options {
  readonly policies?: string
  readonly schemas?: string
  readonly at?: string
  readonly format: keyof typeof FORMATS
  readonly failOn?: (typeof FAIL_ON)[number]
}

const HELP = `
OLD and NEW are each a directory, or a git revision (main, HEAD~1, a tag, ...), optionally with a path from
the repository's top: main:deploy/policies. Both are read with the same schemas, those of the working tree.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the two could not be compared.
A change that may go either way counts as widening and as narrowing. Where rules end (until=), what differs from
that moment on is told with its time.

  sallyport policy diff main policies --fail-on widening
`

export function policyDiffCommand(folders: ReviewFolders): Command {
  return new Command('diff')
    .description('what two versions of the policy mean differently')
    .argument('<old>', 'a directory, or a git revision')
    .argument('<new>', 'a directory, or a git revision')
    .option('--policies <dir>', 'where a revision has the files, unless its name says so')
    .option('--schemas <dir>', 'the schemas that both are read with')
    .option(...AT)
    .addOption(new Option('--format <format>', 'how to tell it').choices(Object.keys(FORMATS)).default('text'))
    .addOption(new Option('--fail-on <direction>', 'exit with 1 for such a change').choices(FAIL_ON))
    .addHelpText('after', HELP)
    .action(async (before: string, after: string, options: Options) => {
      const report = await compare({ before, after }, { ...folders(), ...options })
      print(FORMATS[options.format](report))
      if (options.failOn && fails(report, options.failOn)) process.exitCode = 1
    })
}

/** Throws FileError and ReviewError. */
async function compare(
  names: Report['names'],
  { policies, schemas, at }: { readonly policies: string; readonly schemas: string; readonly at?: string },
): Promise<Report> {
  const now = timeOf(at, Date.now())
  const resources = await loadResources(schemas)
  const before = await readSide(names.before, policies, resources)
  const after = await readSide(names.after, policies, resources)
  return reportOn(names, { before, after }, { resources, now })
}
