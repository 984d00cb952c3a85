/** A policy that is exchanged under load: how long until it rules, and how long nothing else could happen meanwhile. */
import { appendFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { withEventLoop } from '../contenders.ts'
import { madeNames, writePolicies } from '../fixture/policy-files.ts'
import { USUAL } from '../fixture/shape.ts'
import { exchangePolicy } from '../machine/exchange-policy.ts'
import type { Server } from '../machine/server.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { getOf, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

export const reload = { id: 'reload', measure }

const CONNECTIONS = 32

/** Rules are about these besides notes. */
const RESOURCES = 50

const SIZES: readonly number[] = [1000, 10_000, 100_000]
const SMALL: readonly number[] = [20, 200]

/** Of the rounds that the stall is judged by: one stall is short beside what the load alone does. */
const STALL_ROUNDS = 20

const ACTIVE = 'ms to active'
const STALL = 'longest stall ms'
/** What the load alone does. */
const NONE = 'no reload'

/** Measured in all of those rounds. */
const JUDGED = [nameOf(10_000), NONE]

async function measure(bench: Bench): Promise<PartResult> {
  const shape = bench.settings.small ? { ...USUAL, notes: 200 } : { ...USUAL, resources: RESOURCES }
  const prepared = await bench.fixtures.prepared(shape)
  const link = join(prepared.folder, 'current')
  await symlink(join(prepared.folder, 'policies'), link)
  const contenders = [withEventLoop('ours', prepared, { POLICIES: link })]
  const rows = await withServers(contenders, async (servers) =>
    (await Promise.all(servers.map((server) => measureOn(bench, server, link)))).flat(),
  )
  return {
    id: reload.id,
    title: 'Reload under load',
    method:
      `The folder of the policy (rules about ${RESOURCES} resources) is exchanged by a symlink while 32 connections ask; active ` +
      'is when an answer carries the new revision, which includes the wait for the next look at the files (every 100 ms); ' +
      'the stall is looked for until half a second after that.',
    rows,
    targets: targetsOf(rows),
    leftOut: [],
  }
}

async function measureOn(bench: Bench, server: Server, link: string): Promise<readonly Row[]> {
  const { small, rounds } = bench.settings
  const sizes = small ? SMALL : SIZES
  const subjects = new Map([...sizes.map((size): [string, number] => [nameOf(size), size]), [NONE, 0]])
  const samples = new Map<string, { readonly active: number[]; readonly stall: number[] }>()
  const load = { requests: getOf(server, CONNECTIONS), seconds: small ? 0.5 : 3 }
  const judged = new Map([...subjects].filter(([name]) => JUDGED.includes(name)))
  const most = small ? rounds : Math.max(rounds, STALL_ROUNDS)
  for (let round = 1; round <= most; round++) {
    for (const [subject, size] of round <= rounds ? subjects : judged) {
      const next = size === 0 ? undefined : await makePolicies(bench, size, round)
      const { activeMs, longestStallMs } = await exchangePolicy(server, { ...load, link, next })
      bench.tell(`round ${round}: ${subject}: longest stall ${longestStallMs.toFixed(1)} ms`)
      const kept = samples.getOrInsertComputed(subject, () => ({ active: [], stall: [] }))
      if (next !== undefined) kept.active.push(activeMs)
      kept.stall.push(longestStallMs)
    }
  }
  return [...samples].map(([subject, { active, stall }]) => ({
    subject,
    quantities: { ...(active.length > 0 ? { [ACTIVE]: active } : {}), [STALL]: stall },
  }))
}

function nameOf(size: number): string {
  return `${size.toLocaleString('en')} rules`
}

/** A new folder. Its rules differ from every other folder's by a comment, so that the server parses them. */
async function makePolicies({ fixtures, settings }: Bench, rules: number, round: number): Promise<string> {
  const folder = await fixtures.scratch()
  await writePolicies(folder, madeNames(settings.small ? USUAL.resources : RESOURCES), rules)
  await appendFile(join(folder, 'policy.csv'), `# ${rules} rules, round ${round}\n`)
  return folder
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (size: number) => rows.find(({ subject }) => subject === nameOf(size))
  const stalls = row(10_000)?.quantities[STALL] ?? []
  const without = rows.find(({ subject }) => subject === NONE)?.quantities[STALL] ?? []
  const longer = stalls.map((stall, i) => stall - (without[i] ?? Number.NaN))
  const growth = ratios(ACTIVE, row(100_000), row(10_000))
  const all: readonly Target[] = [
    { what: 'longest stall ms, 10,000 rules', atMost: 20, values: stalls },
    { what: 'longest stall ms, 10,000 rules, less that of no reload', atMost: 3, values: longer },
    { what: 'ms to active, 10,000 rules', atMost: 1000, values: row(10_000)?.quantities[ACTIVE] ?? [] },
    { what: 'ms to active, 100,000 rules', atMost: 1500, values: row(100_000)?.quantities[ACTIVE] ?? [] },
    // Ten times the rules, and a tenth for noise.
    { what: 'ms to active, 100,000 rules / 10,000 rules', atMost: 11, values: growth },
  ]
  return all.filter(({ values }) => values.length > 0)
}
