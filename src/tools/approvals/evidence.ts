/**
 * What speaks for a change or against it: its guarantees, the matrices of the project, and the requests of a decision log.
 * Each is found as the command finds it that shows it alone. What wasn't run says why.
 */

import { stat } from 'node:fs/promises'
import { type Diagnostic, type FileError, MOST_FAULTS, type Place } from '../../base/diagnostic.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import type { FindingReport } from '../../present/findings.ts'
import { printable } from '../../present/quote.ts'
import { count } from '../../present/text.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, orFaults, ToolError } from '../load-policy.ts'
import { isPredictable, unmetFindings } from '../matrix/predict/expectations-met.ts'
import { predictedSuite, readPredictedSuite } from '../matrix/predict/suite.ts'
import { REPLAY_FORMATS } from '../replay/formats.ts'
import { replay, replayPolicyOf, sizeOf } from '../replay/replay.ts'

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

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

export interface ToldEvidence {
  /** As docs/schemas/policy-review.schema.json says. */
  readonly json: object
  readonly text: string
}

export async function gatherEvidence(
  change: ChangeToTry,
  { matrices: places, replay: wanted }: EvidenceWanted,
): Promise<ToldEvidence> {
  const guarantees = (change.check.beside?.json.guarantees ?? []) as readonly JudgedGuarantee[]
  const matrices = await tryMatrices(change, places)
  const replayed = wanted && (await tryReplay(change, wanted))
  const json = { guarantees, matrices: matrices.json, ...(replayed && { replay: replayed.json }) }
  return { json, text: `${guaranteesText(guarantees)}${matrices.text}${replayed?.text ?? ''}` }
}

function notRun(what: string, why: string): ToldEvidence {
  return { json: { notRun: why }, text: `${what}: not run, ${printable(why)}.\n` }
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

async function tryMatrices(change: ChangeToTry, matrices: readonly string[]): Promise<ToldEvidence> {
  const { before, folder, schemas, now } = change
  const suite = await orFaults(
    () => readPredictedSuite({ policies: folder, schemas, matrices }, now),
    (faults) => faultsText(faults),
  )
  if (typeof suite === 'string') return notRun('Matrices', suite)
  const predictable = suite.cases.filter(isPredictable).length
  const expectations = suite.expectations.length + predictable
  if (expectations === 0) return notRun('Matrices', `${matrices.join(', ')} has no matrix: name some with --matrices`)
  const found = await unmetFindings(suite)
  const placeOf = ({ file, line, column }: Place) => JSON.stringify([file, line, column])
  const places = new Set(found.map(placeOf))
  const isUnmet = ({ place }: { readonly place: Place }) => places.has(placeOf(place))
  const unmetOnes = { expectations: suite.expectations.filter(isUnmet), cases: suite.cases.filter(isUnmet) }
  const present = predictedSuite({ ...suite, policy: before.policy }, now)
  const known = new Set((await unmetFindings({ ...present, ...unmetOnes })).map(placeOf))
  const all = found.map((one) => ({ ...one, before: known.has(placeOf(one)) }))
  const unmet = all.toSorted((a, b) => Number(a.before) - Number(b.before))
  return metEvidence({ expectations, unpredictable: suite.cases.length - predictable, unmet }, change)
}

function faultsText({ diagnostics, more }: FileError): string {
  const [first] = diagnostics
  const others = diagnostics.length - 1 + more
  const rest = others > 0 ? `, and ${count(others, 'more fault')}` : ''
  const place = first?.line === 1 ? first.file : `${first?.file}:${first?.line}`
  return `${place}: ${first?.message}${rest}: fix that, or name others with --matrices`
}

interface PredictedMet {
  /** Cells and cases. */
  readonly expectations: number
  /** Cases that only a server can answer. */
  readonly unpredictable: number
  /** `before`: the version in force doesn't meet it either. */
  readonly unmet: readonly (Diagnostic & { readonly before: boolean })[]
}

const MOST_SHOWN = 20

function metEvidence({ expectations, unpredictable, unmet }: PredictedMet, { beforeName }: ChangeToTry): ToldEvidence {
  const left = unpredictable === 0 ? '' : `; ${count(unpredictable, 'case')} left out, which only a server can answer`
  const result = unmet.length === 0 ? 'all met' : `${unmet.length} not met`
  const lines = unmet.slice(0, MOST_SHOWN).map(({ file, line, column, message, before }) => {
    return printable(`  ${file}:${line}:${column}: ${message}${before ? ` (not met by ${beforeName} either)` : ''}`)
  })
  const more = unmet.length - MOST_SHOWN
  const rest = more > 0 ? [`  and ${more} more; --format json lists up to ${MOST_FAULTS}`] : []
  const head = `Matrices: ${count(expectations, 'expectation')}, ${result}${left}.`
  const listed = unmet.slice(0, MOST_FAULTS).map(({ file, line, column, message, before }) => {
    return { file, line, column, message, before }
  })
  return {
    json: { expectations, unpredictable, unmet: listed, more: unmet.length - listed.length },
    text: [head, ...lines, ...rest].map((line) => `${line}\n`).join(''),
  }
}

// ---- Replay ---------------------------------------------------------------------------------------------------------

async function tryReplay(
  { before, after, resources, now }: ChangeToTry,
  { files: given, usual, since = now - WEEK_MS, onStart, onProgress }: ReplayWanted,
): Promise<ToldEvidence> {
  const files = given.length > 0 || usual === undefined ? given : await filesSince(usual, since)
  if (files.length === 0) return notRun('Replay', `no log at hand: ${noLog(usual)}: name its files with --log`)
  try {
    onStart(await sizeOf(files))
    const sides = { candidate: replayPolicyOf(after, resources), baseline: replayPolicyOf(before, resources) }
    const report = await replay(sides, { files, since, until: Number.POSITIVE_INFINITY, maxExamples: 3, onProgress })
    const from = new Date(since).toISOString()
    return {
      json: { files, since: from, ...JSON.parse(REPLAY_FORMATS.json(report)) },
      text: `Replay since ${from}: ${REPLAY_FORMATS.text(report)}`,
    }
  } catch (error) {
    if (error instanceof ToolError) return notRun('Replay', error.message)
    const { code, syscall, path } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    return notRun('Replay', `${path ?? files.join(', ')} can't be read (${systemReason(code)})`)
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
