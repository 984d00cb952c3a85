/** sallyport evidence export, verify: what an auditor gets of a period, and whether all decisions are as the policy says. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { judgeHere } from '../analysis/approvals/judge-here.ts'
import { environment, setExitCode } from '../base/command-process.ts'
import { nameNew } from '../base/files/new-files.ts'
import { writingPlace } from '../base/files/project-file.ts'
import type { Config } from '../config/config.ts'
import { DATABASE_POLICIES } from '../identity/keys/published-settings.ts'
import { printNote, printResult } from '../present/print.ts'
import { PROGRAM } from '../present/program.ts'
import { printable } from '../present/quote.ts'
import { count } from '../present/text.ts'
import type { PolicyCopy } from '../tools/evidence/export-evidence.ts'
import { ToolError } from '../tools/load-policy.ts'
import { existing } from './decision-log.ts'
import { gather, POLICIES, SCHEMAS, settingsWith, TEXT_OR_JSON, withHelp } from './options.ts'
import { inVersions, verifierOf } from './policy/policy-place.ts'

export function evidenceCommand(): Command {
  const evidence = withHelp(new Command('evidence'), {
    about: 'what an auditor gets of a period: decisions, the policy that made them, and what proves both',
    examples: ['evidence export --period 2026-Q4 --out 2026-Q4.evidence', 'evidence verify 2026-Q4.evidence'],
  })
  declareExport(evidence)
  declareVerify(evidence)
  return evidence
}

function declareExport(evidence: Command): void {
  withHelp(evidence.command('export'), {
    about: 'write the evidence of a period into one file: logs, versions of the policy, schemas, and reports',
    note: `Run it with the environment of the server. A file has personal data: --recipient encrypts it.
Name the logs of all instances, and the moved files of a log before it, the oldest one first.`,
    examples: [
      'evidence export --period 2026-Q4 --out 2026-Q4.evidence',
      'evidence export --period 2026-11 --out november.evidence --mutation --add review-2026-11.csv',
    ],
  })
    .argument('[logs...]', 'decision logs of all instances (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')
    .requiredOption('--period <period>', 'a year, quarter, month or day in UTC, like 2026-Q4 or 2026-11')
    .requiredOption('--out <file>', 'the file; it must not exist')
    .option('--mutation', 'also how many mutants of the policy the matrices find, which takes minutes')
    .option('--add <file>', 'a file to add, such as an access review; repeat for more', gather)
    .option('--recipient <recipient>', 'encrypt for this recipient, like age1…; repeat for more', gather)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(TEXT_OR_JSON)
    .action(exportAll)
}

interface ExportFlags {
  readonly period: string
  readonly out: string
  readonly mutation?: true
  readonly add?: readonly string[]
  readonly recipient?: readonly string[]
  readonly format: 'text' | 'json'
}

async function exportAll(logs: readonly string[], { out, add = [], recipient = [], ...flags }: ExportFlags) {
  const { readPeriod } = await import('../tools/evidence/period.ts')
  const { exportEvidence } = await import('../tools/evidence/export-evidence.ts')
  const { runReports } = await import('../tools/evidence/run-reports.ts')
  const { diskFault, folderFault } = await import('../tools/backup/file-faults.ts')
  const { beginAgain } = await import('../tools/backup/unfinished.ts')
  const period = readPeriod(flags.period, Date.now())
  const settings = await settingsWith(flags)
  const place = resolve(await writingPlace(out))
  if (existsSync(place)) throw taken(out)
  const named = logs.length > 0 ? await Promise.all(logs.map(existing)) : [await existing(undefined)]
  // Beside the file, so that it gets its name at once.
  const parent = dirname(place)
  const { folder, remove } = await beginAgain(parent, basename(place)).catch((error) => {
    throw folderFault(parent, error)
  })
  try {
    const variables = { ...environment(), POLICIES: settings.policies, SCHEMAS: settings.schemas }
    const reports = () => runReports(variables, { mutation: flags.mutation ?? false })
    const file = join(folder, 'evidence')
    const parts = { period, logs: named, schemas: settings.schemas, reports, added: add, program: PROGRAM.version }
    const policy = () => copyPolicy(settings, folder)
    const { manifest, gaps } = await exportEvidence(file, { ...parts, policy, now: new Date() }, recipient)
    await nameNew(file, place).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? taken(out) : error
    })
    const missing = manifest.reports.flatMap(({ command, why }) => (why ? [`without ${command}: ${why}`] : []))
    const notes = [...missing, ...gaps]
    for (const note of notes) printNote(`sallyport: ${printable(note)}\n`)
    const { parts: all, ...facts } = manifest
    const result = { file: out, encrypted: recipient.length > 0, ...facts, parts: all.length, notes }
    printResult(flags.format, result, `${printable(out)} has ${count(all.length, 'part')} of ${flags.period}.\n`)
  } catch (error) {
    throw diskFault(parent, error)
  } finally {
    await remove()
  }
}

function taken(out: string): ToolError {
  return new ToolError(`${out} exists already: name another file`)
}

async function copyPolicy(settings: Config, folder: string): Promise<PolicyCopy> {
  const { filePart, POLICY_PARTS } = await import('../tools/evidence/evidence-archive.ts')
  if (settings.policies === DATABASE_POLICIES) {
    const { copyHistory } = await import('../tools/release/verify-history.ts')
    const file = join(folder, 'policy.json')
    await inVersions(settings, (versions) => copyHistory(versions, file))
    return { kind: 'database', part: await filePart(file, POLICY_PARTS.database) }
  }
  const { folderVersions } = await import('../tools/evidence/kept-policies.ts')
  const { loadResources } = await import('../resources/load/load-resources.ts')
  const { bytesPart } = await import('../tools/backup/archive/write-archive.ts')
  const text = await folderVersions({ ...settings, resources: await loadResources(settings.schemas) })
  return { kind: 'folder', part: bytesPart(POLICY_PARTS.folder, Buffer.from(text)) }
}

function declareVerify(evidence: Command): void {
  withHelp(evidence.command('verify'), {
    about: 'say whether evidence is as it was written, and whether each decision is as the policy of its moment says',
    note: `It needs nothing but the file, and what you trust: POLICY_PUBLIC_KEYS for signed policies, --key and --checkpoint
for logs. The file itself can't show that its first or last records were left out, or the log of an instance.

Exit code: 0, or 1 when something was changed or is missing, a decision isn't as the policy says, or none was decided
again, or 2 when it could not run.`,
    examples: [
      'evidence verify 2026-Q4.evidence',
      'evidence verify 2026-Q4.evidence --key "$(cat log-key.txt)" --checkpoint kept/checkpoint',
    ],
  })
    .argument('<file>', 'the file of `evidence export`')
    .option('--key <text>', 'a key that you kept of a log; repeat for each log', gather)
    .option('--checkpoint <file>', "a copy that you kept of a log's file `checkpoint`; repeat for more", gather)
    .option('--identity <file>', 'the key file of an encrypted file')
    .addOption(TEXT_OR_JSON)
    .action(verify)
}

interface VerifyEvidenceFlags {
  readonly key?: readonly string[]
  readonly checkpoint?: readonly string[]
  readonly identity?: string
  readonly format: 'text' | 'json'
}

async function verify(file: string, { key = [], checkpoint = [], identity, format }: VerifyEvidenceFlags) {
  const { isSound, verifyEvidence } = await import('../tools/evidence/verify-evidence.ts')
  const { evidenceJson, evidenceNotes, evidenceText } = await import('../tools/evidence/evidence-verdict.ts')
  const usual = await settingsWith({})
  const verdict = await verifyEvidence({
    archive: { file, identity },
    keys: key,
    checkpoints: await Promise.all(checkpoint.map(async (one) => [one, await readFile(one, 'utf8')] as const)),
    verifier: async (schemas) => ({ ...(await verifierOf(usual)), judge: judgeHere(schemas) }),
  })
  printResult(format, evidenceJson(file, verdict), evidenceText(verdict))
  for (const note of evidenceNotes(verdict)) printNote(`sallyport: ${printable(note)}\n`)
  if (!isSound(verdict)) setExitCode(1)
}
