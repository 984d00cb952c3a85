/**
 * Measures the parts one after the other, so that a run that nobody watches comes to its end: a part that fails, or takes
 * too long, is told and left, and the results are written after each part.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from '../failure.ts'
import { Fixtures } from '../fixture/fixtures.ts'
import { describeRun } from '../machine/describe-run.ts'
import { faultOfPeers, peerVersions } from '../machine/peer-packages.ts'
import { stopAll } from '../machine/processes.ts'
import { Peers } from '../peers.ts'
import type { PartResult, RunResult } from '../report/result.ts'
import { partText } from '../report/table.ts'
import type { Bench, Part } from './part.ts'
import { PARTS } from './parts.ts'

export interface RunOptions {
  readonly only?: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly peers: boolean
  readonly json?: string
  readonly keep?: boolean
  readonly small?: boolean
}

interface Ended {
  readonly parts: readonly PartResult[]
  /** Whether a part wasn't measured. */
  readonly failed: boolean
}

type Common = Omit<Bench, 'tell'>

/** None takes a third of it with the options that the page is made with. */
const LONGEST_MS = 20 * 60 * 1000

export async function runParts({ only, json, keep, peers, ...asked }: RunOptions): Promise<Ended> {
  const settings = { rounds: asked.rounds, seconds: asked.seconds, small: asked.small ?? false }
  const described = await describeRun(settings)
  const kept = keep && json !== undefined ? await readParts(json) : []
  const common = { settings, fixtures: new Fixtures(), ...(await peersOf(peers)) }
  const versions = common.peers ? { peers: peerVersions() } : {}
  // What no part waits for must not end the run.
  process.on('uncaughtException', (error) => tell(`beside the parts: ${error.stack}`))
  const measured = new Map<string, PartResult>()
  let failed = false
  for (const part of PARTS.filter(({ id }) => !only || only.includes(id))) {
    const result = await measure(part, common)
    failed ||= result === undefined
    if (!result) continue
    process.stdout.write(`## ${result.title}\n\n${result.method}\n\n${partText(result)}\n\n`)
    measured.set(result.id, result)
    if (json === undefined) continue
    const parts = inOrder([...kept.filter(({ id }) => !measured.has(id)), ...measured.values()])
    await write(json, { ...described, ...versions, seconds: Math.round(performance.now() / 1000), parts })
  }
  return { parts: [...measured.values()], failed }

  async function peersOf(wanted: boolean): Promise<Pick<Common, 'peers' | 'withoutPeers'>> {
    const fault = wanted ? faultOfPeers() : 'the peers, because of `--no-peers`'
    if (fault !== undefined) return { peers: undefined, withoutPeers: [fault] }
    const { small } = settings
    const opened = await Peers.open(new Fixtures(), small ? { notes: 200 } : undefined)
    return { peers: opened, withoutPeers: [] }
  }
}

/** Undefined when it failed. */
async function measure(part: Part, common: Common): Promise<PartResult | undefined> {
  const began = performance.now()
  const late = new AbortController()
  try {
    const measuring = part.measure({ ...common, tell: (text) => tell(`${part.id}: ${text}`) })
    const result = await Promise.race([measuring, tooLate(late.signal)])
    const seconds = Math.round((performance.now() - began) / 1000)
    tell(`${part.id}: done in ${seconds} s`)
    return { ...result, seconds }
  } catch (error) {
    tell(error instanceof BenchFailure ? error.message : `${part.id}: ${(error as Error)?.stack ?? error}`)
    stopAll()
    return undefined
  } finally {
    late.abort()
  }
}

async function tooLate(signal: AbortSignal): Promise<never> {
  await sleep(LONGEST_MS, undefined, { signal })
  throw new BenchFailure(`a part was stopped after ${LONGEST_MS / 60_000} minutes`)
}

function tell(text: string): void {
  process.stderr.write(`bench: ${text}\n`)
}

function inOrder(parts: readonly PartResult[]): readonly PartResult[] {
  const place = ({ id }: PartResult) => PARTS.findIndex((part) => part.id === id)
  return parts.toSorted((a, b) => place(a) - place(b))
}

/** None where there is no such file. Throws BenchFailure. */
async function readParts(file: string): Promise<readonly PartResult[]> {
  try {
    const { parts, began, revision }: RunResult = JSON.parse(await readFile(file, 'utf8'))
    return parts.map((part) => ({ run: { began, revision }, ...part }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new BenchFailure(`\`${file}\` has no results to keep: ${(error as Error).message}`)
  }
}

/** In one step: whoever ends the run meanwhile leaves the former results. */
async function write(file: string, result: RunResult): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(result, null, 1)}\n`)
  await rename(`${file}.new`, file)
}
