/** sallyport decisions verify, erase, prove and verify-proof: a decision log as its server has signed it. */
import { readFile } from 'node:fs/promises'
import { Argument, type Command, Option } from 'commander'
import { environment, setExitCode } from '../base/command-process.ts'
import { systemReason } from '../base/files/system-reason.ts'
import { readConfig } from '../config/config.ts'
import { parseRecord } from '../decision-log/decision-record.ts'
import { filesOfLog } from '../decision-log/log-files.ts'
import { recordText } from '../decision-log/record-line.ts'
import type { SignedHistory } from '../decision-log/tree/signed-history.ts'
import { print, printNote, printResult } from '../present/print.ts'
import { quote } from '../present/quote.ts'
import { openOutbox } from '../server/parts/open-store.ts'
import { whileOpen } from '../store/errors.ts'
import { databaseExists } from '../store/open.ts'
import type { NotesInDatabase } from '../tools/log-proof/checkpoints-of-database.ts'
import type { OutsideCheckpoint } from '../tools/log-proof/tree-of-log.ts'
import { existing, LOG } from './decision-log.ts'
import { TEXT_OR_JSON, withHelp } from './options.ts'

const KEY = '--key <text>'
const TREE = new Option('--tree <folder>', "the folder with the log's tree (<log>.tree)")

const LOGS = new Argument('[logs...]', 'decision log files (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')

const CHECKPOINT = new Option(
  '--checkpoint <file...>',
  'copies of the file `checkpoint` that you kept elsewhere: the log must still have their records',
).default([] as readonly string[])

export function declareProofs(decisions: Command): void {
  withHelp(decisions.command('verify'), {
    about: 'say whether each record is as the server has signed it, and which ones were changed, added or are missing',
    note: `Name moved files before the log, the oldest one first. The older files of a log (LOG.1, LOG.2, …) are read too.

Exit code: 0, or 1 when a record isn't as it was signed, or 2 when the command could not run.`,
    examples: [
      'decisions verify',
      'decisions verify archive/decisions.log-20261201 data/decisions.log --key "$(cat log-key.txt)"',
    ],
  })
    .addArgument(LOGS)
    .addOption(TREE)
    .option(
      KEY,
      'a key of the log that you kept elsewhere: the log must be signed by it or by those that follow from it',
    )
    .addOption(CHECKPOINT)
    .addOption(TEXT_OR_JSON)
    .action(verify)
  withHelp(decisions.command('erase'), {
    about:
      'erase what the log knows of a person: who asked, and facts that name the person; the log and all proofs still verify',
    note: `An erased value is gone for good. Facts of others' requests are erased as a whole if one of their values is the id.
Name moved files before the log, and unpack them first. The older files of a log (LOG.1, LOG.2, …) are erased too.`,
    examples: ['decisions erase --subject alice --dry-run', 'decisions erase --subject alice'],
  })
    .addArgument(LOGS)
    .requiredOption('--subject <id>', 'the id of the person')
    .option('--dry-run', 'only say what would be erased')
    .addOption(TEXT_OR_JSON)
    .action(erase)
  withHelp(decisions.command('prove'), {
    about: "print a proof that a request's record is in the log; it needs neither the log nor the server",
    note: 'The proof has the whole record in it.',
    examples: ['decisions prove --request-id 0190b2c4-7d1e-7000-8000-000000000000 > record.tlog-proof'],
  })
    .addArgument(LOG)
    .requiredOption('--request-id <id>', 'the `instance` of its problem, or its requestId, with or without urn:uuid:')
    .addOption(TREE)
    .action(prove)
  withHelp(decisions.command('verify-proof'), {
    about: 'say whether a proof holds, and print its record',
    note: `Exit code: 0, or 1 when it doesn't hold, or 2 when the command could not run.`,
    examples: ['decisions verify-proof record.tlog-proof --key "$(cat log-key.txt)"'],
  })
    .argument('<file>', 'the proof')
    .requiredOption(KEY, 'a key of the log that you kept elsewhere')
    .addOption(TEXT_OR_JSON)
    .action(verifyProof)
}

interface VerifyFlags {
  readonly tree?: string
  readonly key?: string
  readonly checkpoint: readonly string[]
  readonly format: 'text' | 'json'
}

/** A server that signs meanwhile may change a file between two looks; what stays after a new look is a fault. */
const LOOKS = 3

async function verify(logs: readonly string[], { tree, key, checkpoint, format }: VerifyFlags): Promise<void> {
  const { historyOf, outsideCheckpoint, pinnedKey } = await import('../tools/log-proof/tree-of-log.ts')
  const { checkpointsOfDatabase } = await import('../tools/log-proof/checkpoints-of-database.ts')
  const { stayingVerifier } = await import('../decision-log/tree/log-key.ts')
  const { verifyLog } = await import('../tools/log-proof/verify-log.ts')
  const { verdictJson, verdictText } = await import('../tools/log-proof/verdict.ts')
  const named = await existingLogs(logs)
  const folder = await treeOf(named.at(-1) ?? '', tree)
  const look = async () => {
    // The tree has each checkpoint before the database has it.
    const inDatabase = await notesInDatabase((await historyOf(folder)).origin)
    const history = await historyOf(folder)
    const known = { ...history, staying: await stayingVerifier(folder, history.origin) }
    const saved = checkpoint.map(async (file) => outsideCheckpoint(file, await readGiven(file), known))
    const { compared, ...notes } = checkpointsOfDatabase(inDatabase, known)
    const outside = [...(await Promise.all(saved)), ...compared, ...(await witnessedOf(folder, history))]
    const pinned = key === undefined ? undefined : pinnedKey(key, history)
    const files = (await Promise.all(named.map(filesOfLog))).flat()
    return { verdict: await verifyLog(files, folder, history, outside), history, vouching: { pinned, outside }, notes }
  }
  let found = await look()
  for (let looks = 1; looks < LOOKS && found.verdict.faults.length > 0; looks++) {
    if ((await historyOf(folder)).checkpoints.at(-1)?.size === found.verdict.newest?.size) break
    found = await look()
  }
  const { verdict, history, vouching, notes } = found
  for (const by of notes.unsigned)
    printNote(`sallyport: the database has an entry of ${quote(by)} that nobody has signed\n`)
  if (notes.namesake) {
    const { log, size } = notes.namesake
    printNote(
      `sallyport: the database knows ${size} records of ${log}: if no other server has this name, it was the log before\n`,
    )
  }
  printResult(format, verdictJson(verdict, history, vouching), verdictText(verdict, history, vouching))
  if (verdict.faults.length > 0) setExitCode(1)
}

/** What the witness of the settings has signed of the log, by what the tree has and by what the witness says now. */
async function witnessedOf(
  folder: string,
  { origin, checkpoints }: SignedHistory,
): Promise<readonly OutsideCheckpoint[]> {
  const { witness } = readConfig(environment()).decisionLog
  if (!witness) return []
  const { askWitness, readWitnessed } = await import('../decision-log/tree/witness.ts')
  const { remoteReason } = await import('../server/observe/remote-reason.ts')
  const place = `the witness ${witness.key.name}`
  const kept = await readWitnessed(folder, witness.key)
  const seen = kept?.origin === origin ? kept : undefined
  if (!seen) printNote(`sallyport: ${place} has signed nothing of this log that its tree has kept\n`)
  const size = await askWitness(witness, folder, seen).catch((error: unknown) => {
    const what = seen ? 'what it has signed since' : 'what it has signed'
    printNote(`sallyport: ${place} can't be asked ${what} (${remoteReason(error)})\n`)
    return undefined
  })
  // Of more records than the tree has, only their number is known.
  const isCut = size !== undefined && size > (checkpoints.at(-1)?.size ?? 0)
  return [...(seen ? [{ ...seen, place }] : []), ...(isCut ? [{ origin, size, root: '', place }] : [])]
}

async function existingLogs(logs: readonly string[]): Promise<readonly string[]> {
  return logs.length > 0 ? Promise.all(logs.map(existing)) : [await existing(undefined)]
}

interface EraseFlags {
  readonly subject: string
  readonly dryRun?: true
  readonly format: 'text' | 'json'
}

async function erase(logs: readonly string[], flags: EraseFlags): Promise<void> {
  const { subject, format } = flags
  const dryRun = flags.dryRun ?? false
  const { erasePerson, erasureText } = await import('../tools/log-proof/erase.ts')
  const erasure = await erasePerson(await existingLogs(logs), subject, { dryRun })
  printResult(format, { subject, dryRun, ...erasure }, erasureText(erasure, subject, dryRun))
  if (erasure.unsealed > 0) setExitCode(1)
}

async function readGiven(file: string): Promise<string> {
  const { ToolError } = await import('../tools/load-policy.ts')
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ToolError(`${file} can't be read (${systemReason(error.code)}): name another file`)
  })
}

/** What the database of this place keeps of the log; nothing where there is no database. */
async function notesInDatabase(origin: string): Promise<NotesInDatabase> {
  const config = readConfig(environment())
  if (!databaseExists(config.database)) return { cosignatures: [], offers: [] }
  const { unreadDatabase } = await import('../tools/log-proof/tree-of-log.ts')
  return whileOpen(
    () => openOutbox(config),
    async ({ outbox }) => ({
      checkpoint: await outbox.checkpointOf(origin),
      cosignatures: await outbox.cosignaturesOf(origin),
      offers: await outbox.offers(),
    }),
    ({ why }) => unreadDatabase(config.database.name, why),
  )
}

async function prove(log: string | undefined, { requestId, tree }: { requestId: string; tree?: string }) {
  const { historyOf } = await import('../tools/log-proof/tree-of-log.ts')
  const { proveRecord } = await import('../tools/log-proof/proof.ts')
  const file = await existing(log)
  const folder = await treeOf(file, tree)
  const id = requestId.toLowerCase().replace(/^urn:uuid:/, '')
  print(await proveRecord({ id, log: file }, folder, await historyOf(folder)))
}

async function verifyProof(file: string, { key, format }: { key: string; format: 'text' | 'json' }): Promise<void> {
  const { givenKey } = await import('../tools/log-proof/tree-of-log.ts')
  const { readProof } = await import('../tools/log-proof/proof.ts')
  const proven = readProof(await readGiven(file), givenKey(key))
  if (typeof proven === 'string') {
    printResult(format, { proven: false, reason: proven }, `not proven: ${proven}\n`)
    setExitCode(1)
    return
  }
  const { line, index, checkpoint } = proven
  const record = parseRecord(line)
  const shown = record ? recordText(record) : line
  printResult(
    format,
    { proven: true, log: checkpoint.origin, record: index, signed: checkpoint.size, line },
    `proven: record ${index} of the ${checkpoint.size} that ${checkpoint.origin} had signed\n  ${shown}\n`,
  )
}

async function treeOf(log: string, given: string | undefined): Promise<string> {
  const { treeFolder } = await import('../decision-log/tree/log-tree.ts')
  return given ?? treeFolder(log)
}
