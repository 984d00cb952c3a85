/** sallyport backup …: an archive of a server that may be running, and what an archive has. */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { printResult, tell } from '../../present/print.ts'
import type { Manifest } from '../../tools/backup/archive/manifest.ts'
import type { Backup } from '../../tools/backup/back-up.ts'
import { CliCommand, type FolderFlags, type FormatFlag, gather } from '../options.ts'
import { damage, IDENTITY, type IdentityFlag } from './archive-options.ts'
import { describeManifest } from './describe.ts'

interface BackupFlags extends FolderFlags, FormatFlag {
  readonly recipient?: readonly string[]
}

export function backupCommand(program: string): CliCommand {
  const backup = new CliCommand('backup').description('archive the data, keys, policy and schemas of a running server')
  backup
    .argument('[file]', 'the archive; it must not exist (DATA_DIR/backups/sallyport-<time>.tar)')
    .option('--recipient <recipient>', 'encrypt for this recipient, like age1…; repeat for more', gather)
    .folders()
    .formats()
    .note('Run it with the environment of the server. Without --recipient, the archive is not encrypted.')
    .examples('backup', 'backup /backups/monday.tar', 'backup verify /backups/monday.tar')
    .action(async (file: string | undefined, { recipient = [], policies, schemas, format }: BackupFlags) => {
      const { backUp } = await import('../../tools/backup/back-up.ts')
      const config = readConfig(environment(), { ...(policies && { policies }), ...(schemas && { schemas }) })
      const made = await backUp({ config, file, recipients: recipient, program, now: new Date() })
      tell(made.leftovers.map(sentenceOf).join(''))
      const { parts: _, ...facts } = made.manifest
      const result = { file: made.file, encrypted: recipient.length > 0, bytes: bytesOf(made.manifest), ...facts }
      printResult(format, result, `Archived in ${made.file}.\n${describeManifest(made.manifest)}`)
    })
  addVerify(backup)
  addKey(backup)
  // `--format` behind `verify` is the one of `verify`.
  return backup.enablePositionalOptions()
}

function addVerify(backup: CliCommand): void {
  backup
    .command('verify')
    .description('check that an archive is whole, and say what is in it; exit code 1 if it is damaged')
    .argument('<file>', 'the archive')
    .option(...IDENTITY)
    .formats()
    .examples('backup verify monday.tar', 'backup verify monday.tar.age --identity backup.key --format json')
    .action(async (file: string, { identity, format }: IdentityFlag & FormatFlag) => {
      const { verify } = await import('../../tools/backup/verify.ts')
      const found = await verify({ file, identity })
      if ('faults' in found) return damage(format, file, found.faults)
      const { manifest } = found
      const result = { file, whole: true, bytes: bytesOf(manifest), ...manifest }
      printResult(format, result, `The archive ${file} is whole.\n${describeManifest(manifest)}`)
    })
}

function addKey(backup: CliCommand): void {
  backup
    .command('key')
    .description('make a key file for encrypted archives, and print its recipient')
    .argument('<file>', 'the key file; it must not exist')
    .formats()
    .note('Keep the key file away from the server: `backup` needs only the recipient. Without it, archives are lost.')
    .examples('backup key backup.key')
    .action(async (file: string, { format }: FormatFlag) => {
      const { makeKeyFile } = await import('../../tools/backup/key-file.ts')
      const { recipient } = await makeKeyFile(file, new Date())
      tell(`The key file is ${file}. Only who has it can read archives for this recipient:\n`)
      printResult(format, { file, recipient }, `${recipient}\n`)
    })
}

function bytesOf({ parts }: Manifest): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0)
}

function sentenceOf({ folder, of, isMade, isDead, isRemoved }: Backup['leftovers'][number]): string {
  if (!isDead) return `Another backup is running, or was ended on another machine: ${folder}\n`
  if (!isRemoved) return `A backup of another user was ended, and only that user can remove it: ${folder}\n`
  const when = isMade ? `after it had made \`${of}\`` : 'before it was complete'
  return `Removed ${folder}: a backup was ended ${when}.\n`
}
