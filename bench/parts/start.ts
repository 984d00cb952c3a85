/** From the start of the process to its first answer, and the memory that it holds once it has worked. */
import { koaRouter, ours } from '../contenders.ts'
import { USUAL } from '../fixture/shape.ts'
import { load } from '../machine/load.ts'
import { type Contender, startServer } from '../machine/server.ts'
import { usageOf } from '../machine/usage.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { getOf } from '../rounds.ts'
import type { Bench } from './part.ts'

export const start = { id: 'start', measure }

const CONNECTIONS = 32
const FIRST = 'ms to first answer'
const STARTED = 'RSS MiB, started'
const LOADED = 'RSS MiB, after load'

async function measure(bench: Bench): Promise<PartResult> {
  const { small, rounds } = bench.settings
  const usual = await bench.fixtures.prepared(small ? { ...USUAL, notes: 200 } : USUAL)
  const contenders = [
    koaRouter('koa + router', usual.target),
    ...(bench.peers ? [bench.peers.contender('Fastify, token cache')] : []),
    ours('ours', usual),
  ]
  const samples = new Map(contenders.map(({ name }) => [name, { first: [], started: [], loaded: [] } as Samples]))
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      const found = await startOnce(contender, bench.settings.seconds)
      bench.tell(`round ${round}: ${contender.name}: ${found.first.toFixed(0)} ms`)
      for (const name of ['first', 'started', 'loaded'] as const) samples.get(contender.name)?.[name].push(found[name])
    }
  }
  const rows = [...samples].map(([subject, { first, started, loaded }]): Row => {
    return { subject, quantities: { [FIRST]: first, [STARTED]: started, [LOADED]: loaded } }
  })
  return {
    id: start.id,
    title: 'Start and memory',
    method: 'A start on a data folder that is there, asked until it answers; resident memory then, and after load.',
    rows,
    targets: targetsOf(rows),
    leftOut: bench.withoutPeers,
  }
}

type Samples = Record<'first' | 'started' | 'loaded', number[]>

async function startOnce(contender: Contender, seconds: number): Promise<Record<keyof Samples, number>> {
  const server = await startServer(contender)
  try {
    const started = usageOf(server.pid).mebibytes
    await load(server.base, getOf(server, CONNECTIONS), seconds)
    return { first: server.firstAnswerMs, started, loaded: usageOf(server.pid).mebibytes }
  } finally {
    await server.stop()
  }
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const all: readonly Target[] = [
    { what: 'ms to first answer / koa + router', atMost: 3.5, values: ratios(FIRST, row('ours'), row('koa + router')) },
    {
      what: 'memory after load / Fastify',
      atMost: 1.5,
      values: ratios(LOADED, row('ours'), row('Fastify, token cache')),
    },
  ]
  return all.filter(({ values }) => values.length > 0)
}
