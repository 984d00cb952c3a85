/** sallyport policy export: the files of a published version, in a new folder. */
import { ConfigError } from '../../config/values.ts'
import { versionNamed } from '../../identity/keys/published-settings.ts'
import { printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import type { CliCommand, PolicySettings, TextOrJson } from '../options.ts'
import { inVersions } from './release-target.ts'

interface ExportFlags {
  readonly from?: string
  readonly format: TextOrJson
}

export function declareExport(policy: CliCommand, settings: PolicySettings): void {
  policy
    .command('export')
    .description('write the files of a version in the database into a new folder')
    .argument('<dir>', 'a folder that does not exist, or is empty')
    .option(
      '--from <version>',
      'database: for the last version, or database: with a number or a revision of `policy history` (POLICIES)',
    )
    .formats()
    .note(`The version must be signed with a key of POLICY_PUBLIC_KEYS. All its files are written, or none.
The folder has the revision of the version, so a server or a reviewer can use it as a policy directory.`)
    .examples('policy export policies-copy --from database:', 'policy export policies-of-friday --from database:12')
    .action(async (directory: string, { from, format }: ExportFlags) => {
      const { exportVersion } = await import('../../tools/release/export-version.ts')
      const { readVersion } = await import('../../tools/release/published-versions.ts')
      const usual = settings()
      const wanted = versionWanted(from ?? usual.policies)
      const { version, texts } = await inVersions(usual, (versions, keys) => readVersion(versions, keys, wanted))
      await exportVersion(directory, texts)
      const { number, revision } = version
      const text = `Version ${number}, revision ${revision}, is in ${printable(directory)}. Its signature is valid.\n`
      printResult(format, { directory, number, revision, files: [...texts.keys()] }, text)
    })
}

function versionWanted(named: string): string {
  const version = versionNamed(named)
  if (version !== undefined) return version
  throw new ConfigError(
    `\`${named}\` names no published version; give --from database:, or --from database: with a number or a revision`,
  )
}
