/**
 * Lists and writes: pages of one's own out of 1,000,000, durable creates with a commit each or in common, and reads that
 * are decided through other objects (related-objects.ts).
 */
import { insertEach, oneCommitEach, ours } from '../contenders.ts'
import { USUAL } from '../fixture/shape.ts'
import type { Requests } from '../machine/load.ts'
import type { Server } from '../machine/server.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { type Asked, createOf, getOf, listOf, measureRounds, withServers } from '../rounds.ts'
import { BESIDE_METHOD, besideTargets, measureBesideWrites } from './beside-writes.ts'
import type { Bench } from './part.ts'
import { measureRelated, RELATED_METHOD, relatedTargets } from './related-objects.ts'

export const store = { id: 'store', measure }

const READERS = 32
const WRITERS = 64

/** What a server keeps of objects that are asked for again and again saves nothing here. */
const EACH = "guarded GET of each of the caller's 10,000"
const GROUPED = 'create, 64 connections'
const BY_HAND = 'create by hand, 64 connections'
const ALONE = 'create, 64 connections, a commit each'

async function measure(bench: Bench): Promise<PartResult> {
  const { small } = bench.settings
  const writes = small ? { ...USUAL, notes: 200 } : USUAL
  const [million, grouped, alone] = [
    await bench.fixtures.prepared(small ? writes : { ...USUAL, notes: 1_000_000 }),
    await bench.fixtures.prepared(writes, 'grouped'),
    await bench.fixtures.prepared(writes, 'alone'),
  ]
  const writers = [
    ours('grouped', grouped),
    oneCommitEach('alone', alone),
    insertEach('by hand', await bench.fixtures.scratch(), grouped.target),
  ]
  const contenders = [ours('million', million), ...writers.map((writer) => ({ ...writer, cpu: 'any' as const }))]
  const owned = await withServers(contenders, (servers) => measureRounds(bench, asked(servers)))
  const rows = [...owned]
  const leftOut: string[] = []
  for (const others of [measureBesideWrites, measureRelated]) {
    try {
      rows.push(...(await others(bench)))
    } catch (error) {
      // What was measured is told without it.
      leftOut.push((error as Error).message)
    }
  }
  return {
    id: store.id,
    title: 'Lists and writes',
    method:
      "Reads and patches out of 1,000,000 notes, 10,000 of them the caller's; a guarded GET asks for the same 100 again and again, which the server keeps, or for each of the 10,000 in turn; creates (synchronous=FULL) as they ship, " +
      'with a commit for each (bench/preload/one-write-at-a-time.ts), and by node:http and node:sqlite without any check, each on all CPUs, because a thread writes. ' +
      `${BESIDE_METHOD} ${RELATED_METHOD}`,
    rows,
    targets: targetsOf(rows),
    leftOut,
  }
}

function asked([million, grouped, alone, byHand]: readonly Server[]): readonly Asked[] {
  if (!million || !grouped || !alone || !byHand) throw new Error('not all servers are there')
  return [
    { subject: 'guarded GET', server: million, requests: getOf(million, READERS) },
    { subject: EACH, server: million, requests: getOf(million, READERS, million.target.owned) },
    { subject: 'list of 50', server: million, requests: listOf(million, '?limit=50', READERS) },
    {
      subject: 'list of 50, newest first',
      server: million,
      requests: listOf(million, '?limit=50&sort=-createdAt', READERS),
    },
    { subject: 'patch, 64 connections', server: million, requests: patch(million) },
    { subject: GROUPED, server: grouped, requests: createOf(grouped, WRITERS) },
    { subject: ALONE, server: alone, requests: createOf(alone, WRITERS) },
    { subject: BY_HAND, server: byHand, requests: createOf(byHand, WRITERS) },
    { subject: 'create, 1 connection', server: grouped, requests: createOf(grouped, 1) },
    { subject: 'create, 1 connection, a commit each', server: alone, requests: createOf(alone, 1) },
  ]
}

function patch(server: Server): Requests {
  return { ...getOf(server, WRITERS), method: 'PATCH', body: '{"title":"Note %d"}' }
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const ratio = (over: string, under: string) =>
    ratios(
      'req/s',
      rows.find((row) => row.subject === over),
      rows.find((row) => row.subject === under),
    )
  return [
    { what: 'req/s of list of 50 / guarded GET', atLeast: 0.5, values: ratio('list of 50', 'guarded GET') },
    { what: 'durable creates / a commit each, 64 connections', atLeast: 2, values: ratio(GROUPED, ALONE) },
    { what: 'durable creates / by hand, 64 connections', atLeast: 1.5, values: ratio(GROUPED, BY_HAND) },
    ...besideTargets(rows),
    ...relatedTargets(rows),
  ]
}
