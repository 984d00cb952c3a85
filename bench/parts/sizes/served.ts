/** What a server is started with grows: rules, resources, stored objects. Each size is a server of its own. */
import { ours } from '../../contenders.ts'
import type { DecisionFigures, DecisionSettings } from '../../engines/time-decisions.ts'
import { type Shape, USUAL } from '../../fixture/shape.ts'
import { measureApart } from '../../machine/measure-apart.ts'
import { type Contender, type Server, startServer } from '../../machine/server.ts'
import type { Row } from '../../report/result.ts'
import { type Asked, getOf, listOf, measureRounds, withServers } from '../../rounds.ts'
import type { Bench } from '../part.ts'

export const GET_CPU = 'GET, CPU us'
export const LIST_CPU = 'list of 50, CPU us'
const [DECISION, START, MEMORY] = ['decision, us', 'start, ms', 'RSS MiB']

const CONNECTIONS = 32

/** Each takes a second or more. */
const MOST_STARTS = 3

const DECISIONS = new URL('../../engines/time-decisions.ts', import.meta.url).pathname

const RESOURCES_OF_RULES = 50

export function byRules(bench: Bench): Promise<readonly Row[]> {
  const counts = bench.settings.small ? [10, 100] : [10, 100, 1000, 10_000, 100_000]
  return measurePoints(bench, 'rules', {
    shapes: new Map(counts.map((rules) => [rules, { ...usual(bench), rules, resources: RESOURCES_OF_RULES }])),
    decisions: (rules) => ({ rules, resources: Math.min(RESOURCES_OF_RULES, rules / 5) }),
  })
}

export function byResources(bench: Bench): Promise<readonly Row[]> {
  const counts = bench.settings.small ? [2, 20] : [2, 20, 100, 500]
  return measurePoints(bench, 'resources', {
    shapes: new Map(counts.map((resources) => [resources, { ...usual(bench), resources }])),
    // Five rules for each.
    decisions: (resources) => ({ rules: resources * 5, resources }),
  })
}

export function byObjects(bench: Bench): Promise<readonly Row[]> {
  const counts = bench.settings.small ? [200, 400] : [1000, 10_000, 100_000, 1_000_000]
  return measurePoints(bench, 'objects', {
    shapes: new Map(counts.map((notes) => [notes, { ...USUAL, notes }])),
    lists: true,
  })
}

function usual({ settings }: Bench): Shape {
  return settings.small ? { ...USUAL, notes: 200 } : USUAL
}

interface Points {
  readonly shapes: ReadonlyMap<number, Shape>
  /** Whether lists are measured too. */
  readonly lists?: boolean
  /** Of decisions alone; absent where they don't depend on it. */
  decisions?(count: number): Pick<DecisionSettings, 'rules' | 'resources'>
}

async function measurePoints(bench: Bench, of: string, { shapes, lists, decisions }: Points): Promise<readonly Row[]> {
  const contenders = new Map<number, Contender>()
  for (const [count, shape] of shapes) {
    bench.tell(`making ${nameOf(of, count)}`)
    contenders.set(count, ours(nameOf(of, count), await bench.fixtures.prepared(shape)))
  }
  const starts = await startAgain(bench, contenders)
  const counts = [...contenders.keys()]
  const rows = await withServers([...contenders.values()], (servers) => {
    for (const [i, count] of counts.entries()) starts.get(count)?.push(servers[i]?.firstAnswerMs ?? Number.NaN)
    return measureRounds(bench, [...asGets(servers), ...(lists ? asLists(servers) : [])])
  })
  const points: Row[] = []
  for (const [i, count] of counts.entries()) {
    const list = lists ? rows[counts.length + i]?.quantities['CPU us/req'] : undefined
    const get = rows[i]?.quantities
    points.push({
      subject: nameOf(of, count),
      size: { of, count },
      quantities: {
        [GET_CPU]: get?.['CPU us/req'] ?? [],
        ...(list && { [LIST_CPU]: list }),
        ...(decisions && { [DECISION]: await timeDecisions(bench, decisions(count)) }),
        [START]: starts.get(count) ?? [],
        [MEMORY]: get?.[MEMORY] ?? [],
      },
    })
  }
  return points
}

export function nameOf(of: string, count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? of.replace(/s$/, '') : of}`
}

function asGets(servers: readonly Server[]): readonly Asked[] {
  return servers.map((server) => ({ subject: server.name, server, requests: getOf(server, CONNECTIONS) }))
}

function asLists(servers: readonly Server[]): readonly Asked[] {
  return servers.map((server) => {
    return { subject: `${server.name}, list`, server, requests: listOf(server, '?limit=50', CONNECTIONS) }
  })
}

/** Milliseconds to the first answer, once less than there are to be: the servers that are measured start too. */
async function startAgain(
  bench: Bench,
  contenders: ReadonlyMap<number, Contender>,
): Promise<ReadonlyMap<number, number[]>> {
  const samples = new Map([...contenders.keys()].map((count) => [count, [] as number[]]))
  for (let round = 1; round < Math.min(MOST_STARTS, bench.settings.rounds); round++) {
    for (const [count, contender] of contenders) {
      const server = await startServer(contender)
      samples.get(count)?.push(server.firstAnswerMs)
      await server.stop()
    }
  }
  return samples
}

async function timeDecisions(
  { settings }: Bench,
  size: Pick<DecisionSettings, 'rules' | 'resources'>,
): Promise<readonly number[]> {
  const { rounds, seconds } = settings
  const wanted: DecisionSettings = { ...size, rounds, milliseconds: seconds * 500, others: false, peers: false }
  const { engines } = await measureApart<DecisionFigures>(DECISIONS, wanted)
  return engines.ours?.micros ?? []
}
