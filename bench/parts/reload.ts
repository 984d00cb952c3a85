/** A policy that is exchanged under load: how long until it rules, and how long nothing else could happen meanwhile. */
import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withEventLoop } from '../contenders.ts'
import { BenchFailure } from '../failure.ts'
import type { Fixtures, Prepared } from '../fixture/fixtures.ts'
import { madeNames, writePolicies } from '../fixture/policy-files.ts'
import { USUAL } from '../fixture/shape.ts'
import { load } from '../machine/load.ts'
import type { Server } from '../machine/server.ts'
import type { PartResult, Row, Sample, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { getOf, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

export const reload = { id: 'reload', measure }

const CONNECTIONS = 32

/** Rules are about these besides notes. */
const RESOURCES = 50
const MADE = madeNames(RESOURCES)

/** Rules; 0 exchanges nothing, which tells what the load alone does. */
const SIZES: readonly number[] = [1000, 10_000, 100_000, 0]
const SMALL: readonly number[] = [20, 200, 0]

/** The load goes on for so long around a reload, in seconds. */
const BEFORE = 0.3
const LONGEST = 30

interface Figures {
  readonly 'ms to active': number
  readonly 'longest stall ms': number
}

async function measure(bench: Bench): Promise<PartResult> {
  const { small, rounds } = bench.settings
  const prepared = await bench.fixtures.prepared(
    { ...USUAL, resources: RESOURCES, notes: small ? 200 : USUAL.notes },
    'reload',
  )
  const current = await linkPolicies(prepared)
  const sizes = small ? SMALL : SIZES
  const rows = await withServers([withEventLoop('ours', prepared, { POLICIES: current })], async ([server]) => {
    if (!server) throw new BenchFailure('the server is missing')
    const samples = new Map(sizes.map((size) => [size, { active: [] as number[], stall: [] as number[] }]))
    for (let round = 1; round <= rounds; round++) {
      for (const [size, { active, stall }] of samples) {
        const figures = await exchange(server, current, size, await policies(bench.fixtures, size, round))
        bench.tell(`round ${round}: ${size} rules: longest stall ${figures['longest stall ms'].toFixed(1)} ms`)
        if (size > 0) active.push(figures['ms to active'])
        stall.push(figures['longest stall ms'])
      }
    }
    return [...samples].map(([size, { active, stall }]) => rowOf(size, active, stall))
  })
  return {
    id: reload.id,
    title: 'Reload under load',
    method:
      'The folder of the policy is exchanged (a symlink) while 32 connections ask; active is when an answer carries the new ' +
      'revision, which includes the wait for the next look at the files (every 100 ms); the stall is that of the event loop.',
    rows,
    targets: targetsOf(rows),
    leftOut: [],
  }
}

function rowOf(size: number, active: Sample, stall: Sample): Row {
  if (size === 0) return { subject: 'no reload', quantities: { 'longest stall ms': stall } }
  return { subject: nameOf(size), quantities: { 'ms to active': active, 'longest stall ms': stall } }
}

function nameOf(size: number): string {
  return `${size.toLocaleString('en')} rules`
}

async function linkPolicies({ folder }: Prepared): Promise<string> {
  const current = join(folder, 'current')
  await symlink(join(folder, 'policies'), current)
  return current
}

/** A new folder, whose revision is like no other's. */
async function policies(fixtures: Fixtures, rules: number, round: number): Promise<string> {
  const folder = await fixtures.scratch()
  if (rules > 0) await writePolicies(folder, MADE, rules)
  await writeFile(join(folder, 'blocked.txt'), `# ${rules} rules, round ${round}\n`)
  return folder
}

async function exchange(server: Server, current: string, size: number, next: string): Promise<Figures> {
  const loaded = load(server.base, getOf(server, CONNECTIONS), 3)
  await sleep(BEFORE * 1000)
  const before = await revisionOf(server)
  await longestStall(server)
  const began = performance.now()
  if (size === 0) await sleep(1000)
  else await putInPlace(current, next)
  if (size > 0) await untilAnother(server, before, size)
  const active = performance.now() - began
  const stall = await longestStall(server)
  await loaded
  return { 'ms to active': active, 'longest stall ms': stall }
}

async function untilAnother(server: Server, before: string | undefined, size: number): Promise<void> {
  for (const end = performance.now() + LONGEST * 1000; performance.now() < end; await sleep(5)) {
    const revision = await revisionOf(server)
    if (revision !== undefined && revision !== before) return
  }
  throw new BenchFailure(`${size} rules were not taken`)
}

async function putInPlace(current: string, next: string): Promise<void> {
  await symlink(next, `${current}.next`)
  await rename(`${current}.next`, current)
}

/** Undefined when there was no answer: a server that stood still for long closes connections. */
async function revisionOf({ base, target: { path, ids, token } }: Server): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${base}${path}${ids[0]}`, { headers }).catch(() => undefined)
  await answer?.arrayBuffer()
  return answer?.headers.get('policy-revision') ?? undefined
}

/** Since it was asked last (preload/event-loop.ts). */
function longestStall({ child }: Server): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  child.once('message', (message: { readonly longestStallMs: number }) => resolve(message.longestStallMs))
  child.send('longest stall?')
  return promise
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (size: number) => rows.find(({ subject }) => subject === nameOf(size))
  const stall = row(10_000)?.quantities['longest stall ms']
  const growth = ratios('ms to active', row(100_000), row(10_000))
  return [
    ...(stall ? [{ what: 'longest stall ms, 10,000 rules', atMost: 20, values: stall }] : []),
    // Ten times the rules, and a tenth for noise.
    ...(growth.length > 0 ? [{ what: 'ms to active, 100,000 rules / 10,000', atMost: 11, values: growth }] : []),
  ]
}
