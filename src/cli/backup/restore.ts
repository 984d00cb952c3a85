/** sallyport restore: makes a server's folder of an archive. */
import { environment } from '../../base/command-process.ts'
import { printResult, tell } from '../../present/print.ts'
import { refusePassword } from '../data/database-flag.ts'
import { CliCommand, type FormatFlag } from '../options.ts'
import { damage, IDENTITY, type IdentityFlag } from './archive-options.ts'
import { describeManifest } from './describe.ts'

interface RestoreFlags extends FormatFlag, IdentityFlag {
  readonly database?: string
}

export function restoreCommand(): CliCommand {
  return new CliCommand('restore')
    .description('make data/, policies/ and schemas/ of an archive in an empty folder')
    .argument('<file>', 'the archive')
    .argument('<directory>', 'the folder; it is empty, or is made')
    .option(...IDENTITY)
    .option('--database <url>', 'the empty database for an archive of PostgreSQL (DATABASE_URL)')
    .formats()
    .note('Nothing is overwritten: a folder or a database with content is refused. Start the server there afterwards.')
    .examples(
      'restore monday.tar /srv/restored',
      'restore monday.tar /srv/restored --database "$EMPTY_DATABASE"',
      'restore monday.tar.age /srv/restored --identity backup.key',
    )
    .action(async (file: string, directory: string, { identity, database, format }: RestoreFlags) => {
      const { restoreArchive } = await import('../../tools/backup/restore.ts')
      refusePassword(database)
      const databaseUrl = database ?? environment().DATABASE_URL
      const restored = await restoreArchive({ archive: { file, identity }, directory, databaseUrl })
      if ('faults' in restored) return damage(format, file, restored.faults)
      for (const { folder } of restored.leftovers)
        tell(`Removed ${folder}: a restore was ended before it was complete.\n`)
      const { parts: _, ...facts } = restored.manifest
      printResult(
        format,
        { directory, ...facts },
        `Restored into ${directory}.\n${describeManifest(restored.manifest)}`,
      )
    })
}
