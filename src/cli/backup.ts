/** sallyport backup …, restore: an archive of a server that may be running, what it has, and a server's folder from it. */
import { Command, Option } from 'commander'
import { environment, setExitCode } from '../base/command-process.ts'
import { readConfig } from '../config/config.ts'
import { printNote, printProblem, printResult } from '../present/print.ts'
import type { Manifest } from '../tools/backup/archive/manifest.ts'
import type { Backup } from '../tools/backup/back-up.ts'
import { gather, POLICIES, SCHEMAS, TEXT_OR_JSON, withHelp } from './options.ts'

const IDENTITY = new Option('--identity <file>', 'the key file of an encrypted archive')

export function backupCommand(program: string): Command {
  const backup = withHelp(new Command('backup'), {
    about: 'archive the data, keys, policy and schemas of a running server',
    note: 'Run it with the environment of the server. Without --recipient, the archive is not encrypted.',
    examples: ['backup', 'backup /backups/monday.tar', 'backup verify /backups/monday.tar'],
  })
  backup
    .argument('[file]', 'the archive; it must not exist (DATA_DIR/backups/sallyport-<time>.tar)')
    .option('--recipient <recipient>', 'encrypt for this recipient, like age1…; repeat for more', gather)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(async (file, { recipient = [], format, ...folders }) => {
      const { backUp } = await import('../tools/backup/back-up.ts')
      const config = readConfig(environment(), folders)
      const made = await backUp({ config, file, recipients: recipient, program, now: new Date() })
      printNote(made.leftovers.map(sentenceOf).join(''))
      const { parts: _, ...facts } = made.manifest
      const result = { file: made.file, encrypted: recipient.length > 0, bytes: bytesOf(made.manifest), ...facts }
      printResult(format, result, `Archived in ${made.file}.\n${describeManifest(made.manifest)}`)
    })
  addVerify(backup)
  addKey(backup)
  // `--format` behind `verify` is the one of `verify`.
  return backup.enablePositionalOptions()
}

function addVerify(backup: Command): void {
  withHelp(backup.command('verify'), {
    about: 'check that an archive is whole, and say what is in it; exit code 1 if it is damaged',
    examples: ['backup verify monday.tar', 'backup verify monday.tar.age --identity backup.key --format json'],
  })
    .argument('<file>', 'the archive')
    .addOption(IDENTITY)
    .addOption(TEXT_OR_JSON)
    .action(async (file, { identity, format }) => {
      const { verify } = await import('../tools/backup/verify.ts')
      const found = await verify({ file, identity })
      if ('faults' in found) return damage(format, file, found.faults)
      const { manifest } = found
      const result = { file, whole: true, bytes: bytesOf(manifest), ...manifest }
      printResult(format, result, `The archive ${file} is whole.\n${describeManifest(manifest)}`)
    })
}

function addKey(backup: Command): void {
  withHelp(backup.command('key'), {
    about: 'make a key file for encrypted archives, and print its recipient',
    note: 'Keep the key file away from the server: `backup` needs only the recipient. Without it, archives are lost.',
    examples: ['backup key backup.key'],
  })
    .argument('<file>', 'the key file; it must not exist')
    .addOption(TEXT_OR_JSON)
    .action(async (file, { format }) => {
      const { makeKeyFile } = await import('../tools/backup/key-file.ts')
      const { recipient } = await makeKeyFile(file, new Date())
      printNote(`The key file is ${file}. Only who has it can read archives for this recipient:\n`)
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

export function restoreCommand() {
  return withHelp(new Command('restore'), {
    about: 'make data/, policies/ and schemas/ of an archive in an empty folder',
    note: 'Nothing is overwritten: a folder with content is refused. Start the server there afterwards.',
    examples: ['restore monday.tar /srv/restored', 'restore monday.tar.age /srv/restored --identity backup.key'],
  })
    .argument('<file>', 'the archive')
    .argument('<directory>', 'the folder; it is empty, or is made')
    .addOption(IDENTITY)
    .addOption(TEXT_OR_JSON)
    .action(async (file, directory, { identity, format }) => {
      const { restoreArchive } = await import('../tools/backup/restore.ts')
      const restored = await restoreArchive({ archive: { file, identity }, directory })
      if ('faults' in restored) return damage(format, file, restored.faults)
      for (const { folder } of restored.leftovers)
        printNote(`Removed ${folder}: a restore was ended before it was complete.\n`)
      const { parts: _, ...facts } = restored.manifest
      printResult(
        format,
        { directory, ...facts },
        `Restored into ${directory}.\n${describeManifest(restored.manifest)}`,
      )
    })
}

/** Prints the faults on one line each, and sets the exit code for findings. */
function damage(format: 'text' | 'json', file: string, faults: readonly string[]): void {
  setExitCode(1)
  if (format === 'json') printResult(format, { file, whole: false, faults }, '')
  else printProblem(`sallyport: the archive \`${file}\` is damaged: ${faults.join('; ')}\n`)
}

/** What an archive has, and what a server needs to use it. */
function describeManifest(manifest: Manifest): string {
  const { createdAt, program, engine, policy, decisionLog, needs } = manifest
  const inPolicy = policy.place === 'folder' ? `revision ${policy.revision}` : `published version ${policy.sequence}`
  const lines = [
    `  made       ${createdAt}, by version ${program}`,
    `  database   ${engine}: ${objectsOf(manifest)}`,
    `  policy     ${inPolicy}`,
    `  keys       ${keysOf(manifest)}`,
    `  decisions  up to write ${decisionLog.lastWrite}; records that wait for their log: ${decisionLog.waiting}`,
    ...(needs.length > 0 ? [`  needs      ${needs.join(', ')} as on the server`] : []),
  ]
  return `${lines.join('\n')}\n`
}

function objectsOf({ database: { objects } }: Manifest): string {
  const counts = Object.entries(objects).map(([table, count]) => `${count} ${table.replace(/^objects_/, '')}`)
  return counts.length > 0 ? counts.join(', ') : 'no objects'
}

function keysOf({ signingKeys, parts }: Manifest): string {
  if (signingKeys.place === 'elsewhere') return 'none: tokens are signed elsewhere'
  if (signingKeys.place === 'folder') return `${signingKeys.files} in files, readable to whoever reads the archive`
  const hasSecret = parts.some(({ name }) => name === 'keys/secret')
  if (hasSecret) return 'in the database, with their secret, readable to whoever reads the archive'
  return `in the database, encrypted under KEYS_SECRET (${signingKeys.secrets.join(', ') || 'no key yet'})`
}
