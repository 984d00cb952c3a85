/**
 * What speaks for a change or against it: its guarantees, the matrices of the project, and the requests of a decision log.
 * Each is found as the command finds it that shows it alone. What wasn't run says why.
 */
import { stat } from 'node:fs/promises'
import { type Diagnostic, type FileError, MOST_FAULTS, type Place } from '../../base/diagnostic.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import type { FindingReport } from '../../present/findings.ts'
import { printable } from '../../present/quote.ts'
import { count } from '../../present/text.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, orFaults, ToolError } from '../load-policy.ts'
import { isPredictable } from '../matrix/predict/expectations-met.ts'
import { type PredictedSuite, predictedSuite, readPredictedSuite } from '../matrix/predict/suite.ts'
import { unmetFindings } from '../matrix/run/unmet.ts'
import { REPLAY_FORMATS } from '../replay/formats.ts'
import { type ReplayReport, replay, replayPolicyOf, sizeOf } from '../replay/replay.ts'

export interface ChangeToTry {
  readonly before: LoadedPolicy
  readonly after: LoadedPolicy
  /** The files of `after`. */
  readonly folder: string
  readonly check: Pick<FindingReport, 'beside'>
  readonly resources: Resources
  readonly schemas: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** As people call `before`. */
  readonly beforeName: string
}

export interface EvidenceWanted {
  /** Folders or files. */
  readonly matrices: readonly string[]
  /** Undefined: no log is asked for. */
  readonly replay?: ReplayWanted
}

interface ReplayWanted {
  /** Given by name, oldest first; empty for the files of `usual`. */
  readonly files: readonly string[]
  /** Of this machine's server; undefined if its records go to standard output. */
  readonly usual: string | undefined
  /** Milliseconds since the epoch; a week before now without it. */
  readonly since: number | undefined
  readonly onStart: (characters: number) => void
  readonly onProgress: (characters: number) => void
}

interface NotRun {
  readonly notRun: string
}

interface Met {
  /** Cells and cases. */
  readonly expectations: number
  /** Cases that only a server can answer. */
  readonly unpredictable: number
  readonly unmet: readonly Unmet[]
}

interface Unmet extends Diagnostic {
  /** The version in force doesn't meet it either. */
  readonly before: boolean
}

interface Replayed {
  readonly files: readonly string[]
  readonly since: string
  readonly report: ReplayReport
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

export interface Evidence {
  /** As docs/schemas/policy-review.schema.json says. */
  readonly json: object
  readonly text: string
}

export async function evidenceOf(change: ChangeToTry, { matrices, replay: wanted }: EvidenceWanted): Promise<Evidence> {
  const guarantees = (change.check.beside?.json.guarantees ?? []) as readonly JudgedGuarantee[]
  const met = await tryMatrices(change, matrices)
  const replayed = wanted && (await tryReplay(change, wanted))
  const json = { guarantees, matrices: matricesJson(met), ...(replayed && { replay: replayJson(replayed) }) }
  const texts = [guaranteesText(guarantees), matricesText(met, change), replayed && replayText(replayed)]
  return { json, text: texts.filter(Boolean).join('') }
}

// ---- Guarantees -----------------------------------------------------------------------------------------------------

interface JudgedGuarantee {
  readonly name: string
  readonly status: string
}

/** Those that don't hold are findings, too. */
function guaranteesText(guarantees: readonly JudgedGuarantee[]): string {
  if (guarantees.length === 0) return 'Guarantees: there are none in guarantees.yaml.\n'
  const counts = [...Map.groupBy(guarantees, ({ status }) => status)].map(([status, some]) => {
    const names = ['broken', 'undecided'].includes(status) ? `: ${some.map(({ name }) => name).join(', ')}` : ''
    return `${some.length} ${status}${names}`
  })
  return printable(`Guarantees: ${counts.join('; ')}.`).concat('\n')
}

// ---- Matrices -------------------------------------------------------------------------------------------------------

async function tryMatrices(
  { before, folder, schemas, now }: ChangeToTry,
  matrices: readonly string[],
): Promise<Met | NotRun> {
  const suite = await orFaults<PredictedSuite, NotRun>(
    () => readPredictedSuite({ policies: folder, schemas, matrices }, now),
    (faults) => ({ notRun: faultsText(faults) }),
  )
  if ('notRun' in suite) return suite
  const predictable = suite.cases.filter(isPredictable).length
  const expectations = suite.expectations.length + predictable
  if (expectations === 0) return { notRun: `${matrices.join(', ')} has no matrix: name some with --matrices` }
  const found = await unmetFindings(suite)
  const placeOf = ({ file, line, column }: Place) => JSON.stringify([file, line, column])
  const places = new Set(found.map(placeOf))
  const isUnmet = ({ place }: { readonly place: Place }) => places.has(placeOf(place))
  const unmetOnes = { expectations: suite.expectations.filter(isUnmet), cases: suite.cases.filter(isUnmet) }
  const present = predictedSuite({ ...suite, policy: before.policy }, now)
  const known = new Set((await unmetFindings({ ...present, ...unmetOnes })).map(placeOf))
  const unmet = found.map((one) => ({ ...one, before: known.has(placeOf(one)) }))
  return {
    expectations,
    unpredictable: suite.cases.length - predictable,
    unmet: unmet.toSorted((a, b) => Number(a.before) - Number(b.before)),
  }
}

function faultsText({ diagnostics, more }: FileError): string {
  const [first] = diagnostics
  const others = diagnostics.length - 1 + more
  const rest = others > 0 ? `, and ${count(others, 'more fault')}` : ''
  return `${first?.file}:${first?.line}: ${first?.message}${rest}: fix that, or name others with --matrices`
}

function matricesJson(met: Met | NotRun) {
  if ('notRun' in met) return met
  const unmet = met.unmet.slice(0, MOST_FAULTS).map(({ file, line, column, message, before }) => {
    return { file, line, column, message, before }
  })
  return { ...met, unmet, more: met.unmet.length - unmet.length }
}

const MOST_SHOWN = 20

function matricesText(met: Met | NotRun, { beforeName }: ChangeToTry): string {
  if ('notRun' in met) return notRunText('Matrices', met)
  const { expectations, unpredictable, unmet } = met
  const left = unpredictable === 0 ? '' : `; ${count(unpredictable, 'case')} left out, which only a server can answer`
  const result = unmet.length === 0 ? 'all met' : `${unmet.length} not met`
  const lines = unmet.slice(0, MOST_SHOWN).map(({ file, line, column, message, before }) => {
    return printable(`  ${file}:${line}:${column}: ${message}${before ? ` (not met by ${beforeName} either)` : ''}`)
  })
  const more = unmet.length > MOST_SHOWN ? [`  and ${unmet.length - MOST_SHOWN} more, which --format json has`] : []
  const head = `Matrices: ${count(expectations, 'expectation')}, ${result}${left}.`
  return [head, ...lines, ...more].map((line) => `${line}\n`).join('')
}

// ---- Replay ---------------------------------------------------------------------------------------------------------

async function tryReplay(
  { before, after, resources, now }: ChangeToTry,
  { files: given, usual, since = now - WEEK_MS, onStart, onProgress }: ReplayWanted,
): Promise<Replayed | NotRun> {
  const files = given.length > 0 || usual === undefined ? given : await filesSince(usual, since)
  if (files.length === 0) return { notRun: `no log at hand: ${noLog(usual)}: name its files with --log` }
  try {
    onStart(await sizeOf(files))
    const sides = { candidate: replayPolicyOf(after, resources), baseline: replayPolicyOf(before, resources) }
    const report = await replay(sides, { files, since, until: Number.POSITIVE_INFINITY, maxExamples: 3, onProgress })
    return { files, since: new Date(since).toISOString(), report }
  } catch (error) {
    if (error instanceof ToolError) return { notRun: error.message }
    const { code, syscall, path } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    return { notRun: `${path ?? files.join(', ')} can't be read (${code})` }
  }
}

/** Without the full ones that were last written before. */
async function filesSince(log: string, since: number): Promise<readonly string[]> {
  const files = await filesOfLog(log)
  const written = await Promise.all(files.map((file) => stat(file).catch(() => undefined)))
  return files.filter((file, i) => file === log || (written[i]?.mtimeMs ?? since) >= since)
}

function noLog(usual: string | undefined): string {
  return usual === undefined ? 'the server writes it to standard output' : `there is no file ${usual}`
}

function replayJson(replayed: Replayed | NotRun) {
  if ('notRun' in replayed) return replayed
  const { files, since, report } = replayed
  return { files, since, ...JSON.parse(REPLAY_FORMATS.json(report)) }
}

function replayText(replayed: Replayed | NotRun): string {
  if ('notRun' in replayed) return notRunText('Replay', replayed)
  return `Replay since ${replayed.since}: ${REPLAY_FORMATS.text(replayed.report)}`
}

function notRunText(what: string, { notRun }: NotRun): string {
  return `${what}: not run, ${printable(notRun)}.\n`
}
