/** The guarded GET, lists and durable creates on PostgreSQL, by the CPU time of the server. */

import { DIALECT } from '../../src/store/postgres/dialect.ts'
import { tableNameOf } from '../../src/store/postgres/stored-text.ts'
import { objectById } from '../../src/store/sql/objects.ts'
import { quoteName } from '../../src/store/sql/statement.ts'
import { ours, postgresByHand } from '../contenders.ts'
import { withDatabase } from '../fixture/environment.ts'
import { USUAL } from '../fixture/shape.ts'
import { type PostgresServer, startPostgres } from '../machine/postgres.ts'
import type { Contender, Server } from '../machine/server.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { type Asked, createOf, getOf, listOf, measureRounds, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

export const postgres = { id: 'postgres', measure }

const READERS = 32
const WRITERS = 64

const GET = 'guarded GET'
const LIST = 'list of 50'
const CREATE = 'create, 64 connections'
const BARE = 'node:http + pg, the same SELECT'
const CREATE_BY_HAND = 'create by node:http + pg, 64 connections'
const PEER = 'Fastify, token cache, pg'

const NOTES = quoteName(tableNameOf('notes'))
const STATEMENTS = {
  select: objectById(NOTES, '', DIALECT).text,
  insert: `insert into ${NOTES} (id, version, created_at, updated_at, document, keys, times)
    values ($1, $2, $3, $4, $5, $6, $7)`,
}

async function measure(bench: Bench): Promise<PartResult> {
  const database = await startPostgres()
  try {
    const leftOut = [...bench.withoutPeers]
    const rows = await measureOn(database, bench, leftOut)
    return {
      id: postgres.id,
      title: 'On PostgreSQL',
      method:
        'Reads of 10,000 notes at 32 connections, and durable creates at 64 (fsync on), ours with everything that ships; ' +
        'PostgreSQL on the CPU of the load. By hand: each read runs the same SELECT, each create one INSERT into the same ' +
        "table. Targets compare the CPU time of the servers; PostgreSQL's own is beside it.",
      rows: bench.peers ? rows : [...rows, { subject: `${PEER}: not measured`, quantities: {} }],
      targets: targetsOf(rows),
      leftOut,
    }
  } finally {
    await database.stop()
  }
}

async function measureOn(database: PostgresServer, bench: Bench, leftOut: string[]): Promise<readonly Row[]> {
  const shape = bench.settings.small ? { ...USUAL, notes: 200 } : USUAL
  const urls = { reads: await database.create('reads'), writes: await database.create('writes') }
  const byHandUrl = await database.create('by_hand')
  const reads = await bench.fixtures.inDatabase(shape, urls.reads)
  const writes = await bench.fixtures.inDatabase(shape, urls.writes)
  const byHand = await bench.fixtures.inDatabase(shape, byHandUrl)
  const contenders: readonly Contender[] = [
    ours('reads', reads, withDatabase(urls.reads)),
    ours('writes', writes, withDatabase(urls.writes)),
    postgresByHand(BARE, urls.reads, STATEMENTS, reads.target),
    postgresByHand(CREATE_BY_HAND, byHandUrl, STATEMENTS, byHand.target),
    ...(bench.peers ? [bench.peers.onPostgres(PEER, urls.reads, STATEMENTS, reads.target)] : []),
  ]
  return withServers(contenders, (servers) => measureRounds(bench, asked(servers, database)), leftOut)
}

function asked([reads, writes, bare, byHand, peer]: readonly Server[], database: PostgresServer): readonly Asked[] {
  if (!reads || !writes || !bare || !byHand) throw new Error('not all servers are there')
  const all: readonly Asked[] = [
    { subject: GET, server: reads, requests: getOf(reads, READERS) },
    { subject: LIST, server: reads, requests: listOf(reads, '?limit=50', READERS) },
    { subject: BARE, server: bare, requests: getOf(bare, READERS) },
    ...(peer ? [{ subject: PEER, server: peer, requests: getOf(peer, READERS) }] : []),
    { subject: CREATE, server: writes, requests: createOf(writes, WRITERS) },
    { subject: CREATE_BY_HAND, server: byHand, requests: createOf(byHand, WRITERS) },
  ]
  return all.map((one) => ({ ...one, database }))
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const cpu = (over: string, under: string) => ratios('CPU us/req', row(over), row(under))
  const all: readonly Target[] = [
    { what: 'CPU of Fastify with token cache / guarded GET', atLeast: 1.15, values: cpu(PEER, GET) },
    { what: 'CPU of node:http + pg / guarded GET', atLeast: 0.5, values: cpu(BARE, GET) },
    { what: 'CPU of list of 50 / guarded GET', atMost: 2.5, values: cpu(LIST, GET) },
    { what: 'CPU of creates by node:http + pg / creates', atLeast: 0.8, values: cpu(CREATE_BY_HAND, CREATE) },
  ]
  return all.filter(({ values }) => values.length > 0)
}
