/** The guarded GET beside what it could be, and beside what people write by hand. */
import { bare, koaRouter, koaRouterWithHeaders, ours } from '../contenders.ts'
import { USUAL } from '../fixture/shape.ts'
import type { PeerName } from '../peers.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { compareGets } from '../rounds.ts'
import type { Bench } from './part.ts'

export const guardedGet = { id: 'guarded-get', measure }

const PEERS: readonly PeerName[] = ['Fastify, token cache', 'Fastify', 'Koa by hand', 'json-server']

async function measure(bench: Bench): Promise<PartResult> {
  const { peers } = bench
  const { small } = bench.settings
  const usual = await bench.fixtures.prepared(small ? { ...USUAL, notes: 200 } : USUAL)
  const leftOut = [...bench.withoutPeers]
  const contenders = [
    bare('bare node:http', usual.target),
    koaRouter('koa + router', usual.target),
    koaRouterWithHeaders('koa + router, our headers', usual.target),
    ...(peers ? PEERS.map((name) => peers.contender(name)) : []),
    ours('ours', usual),
    ...(small ? [] : [bare('bare again', usual.target)]),
  ]
  const rows = await compareGets(bench, contenders, leftOut)
  return {
    id: guardedGet.id,
    title: 'The guarded GET',
    method:
      'GET of one note of 10,000 by id, 32 connections in a closed loop; ours with everything that ships: EdDSA token, ' +
      '10 rules, ownership, views, three limits in the process, decision record to the log file. Bare again shows the noise.',
    rows,
    targets: targetsOf(rows),
    leftOut,
  }
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const ratio = (quantity: string, under: string) => ratios(quantity, row('ours'), row(under))
  const all: readonly Target[] = [
    { what: 'req/s / bare node:http', atLeast: 0.4, values: ratio('req/s', 'bare node:http') },
    {
      what: 'req/s / koa + router, our headers',
      atLeast: 0.55,
      values: ratio('req/s', 'koa + router, our headers'),
    },
    { what: 'req/s / Fastify with token cache', atLeast: 1.15, values: ratio('req/s', 'Fastify, token cache') },
    { what: 'req/s / Koa by hand', atLeast: 3.5, values: ratio('req/s', 'Koa by hand') },
    { what: 'p99 / Fastify with token cache', atMost: 1, values: ratio('p99 ms', 'Fastify, token cache') },
  ]
  return all.filter(({ values }) => values.length > 0)
}
