/** Other services ask the policy (AuthZEN): one question and a hundred in one request, beside the guarded GET and Cerbos. */
import { ours } from '../contenders.ts'
import { BenchFailure } from '../failure.ts'
import { allowAsking, questionAbout, toldQuestionAbout, writeCerbosPolicy } from '../fixture/access.ts'
import { type Prepared, USUAL } from '../fixture/shape.ts'
import { startCerbos } from '../machine/cerbos.ts'
import type { Server } from '../machine/server.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { type Asked, getOf, measureRounds, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

export const access = { id: 'access', measure }

const CONNECTIONS = 32
const BATCH = 100

/** More would only wait for one another. */
const BATCH_CONNECTIONS = 8

const ONE = '/access/v1/evaluation'
const MANY = '/access/v1/evaluations'
const GET = 'guarded GET'
const SINGLE = 'evaluation'
const BATCHED = `batch of ${BATCH}`
const CERBOS_SINGLE = 'Cerbos, evaluation'
const CERBOS_BATCHED = `Cerbos, batch of ${BATCH}`
const DECISIONS = 'decisions/s'

interface Answered {
  readonly decision?: unknown
  readonly evaluations?: readonly Answered[]
}

type Ids = readonly (string | number)[]

async function measure(bench: Bench): Promise<PartResult> {
  const shape = bench.settings.small ? { ...USUAL, notes: 200 } : USUAL
  const prepared = await bench.fixtures.prepared(shape, 'access')
  const token = await allowAsking(prepared)
  const leftOut = [...bench.withoutPeers]
  const rows = await withServers([ours('ours', prepared)], async ([server]) => {
    if (!server) throw new Error('the server is not there')
    await expectDecisions(server, token, [questionAbout(ids(prepared)[0] ?? ''), true])
    await expectDecisions(server, token, [questionAbout(prepared.target.otherId), false])
    const cerbos = await cerbosOf(bench, prepared, leftOut)
    try {
      return await measureRounds(bench, [
        { subject: GET, server, requests: getOf(server, CONNECTIONS) },
        ...asking(server, token, ids(prepared), questionAbout, [SINGLE, BATCHED]),
        ...(cerbos ? asking(cerbos, token, ids(prepared), toldQuestionAbout, [CERBOS_SINGLE, CERBOS_BATCHED]) : []),
      ])
    } finally {
      await cerbos?.stop()
    }
  })
  const told = rows.map(withDecisions)
  return {
    id: access.id,
    title: 'Other services ask the policy',
    method:
      `AuthZEN evaluations of one of 100 stored notes at ${CONNECTIONS} connections, and the same in batches of ${BATCH} ` +
      `at ${BATCH_CONNECTIONS}, ` +
      'beside the guarded GET of the same server, with everything that ships: token, 11 rules, the directory, the stored ' +
      'note, limits, decision record. Cerbos has ten rules of the same meaning, no record, and is told the owner and the ' +
      'role with each question, because it stores neither.',
    rows: leftOut.length === 0 ? told : [...told, { subject: 'Cerbos: not measured', quantities: {} }],
    targets: targetsOf(told),
    leftOut,
  }
}

function ids({ target }: Prepared): Ids {
  return target.ids
}

function asking(
  server: Server,
  token: string,
  all: Ids,
  question: (id: string | number) => object,
  [single, batched]: readonly [single: string, batched: string],
): readonly Asked[] {
  const questions = all.map((id) => question(id))
  const batch = Array.from({ length: BATCH }, (_, i) => questions[i % questions.length])
  const common = { method: 'POST', token }
  const one = questions.map((body) => JSON.stringify(body))
  return [
    { subject: single, server, requests: { ...common, connections: CONNECTIONS, paths: [ONE], bodies: one } },
    {
      subject: batched,
      server,
      requests: {
        ...common,
        connections: BATCH_CONNECTIONS,
        paths: [MANY],
        bodies: [JSON.stringify({ evaluations: batch })],
      },
    },
  ]
}

/** Undefined where the peers aren't there, and where it doesn't start or decides wrongly, which is told in `leftOut`. */
async function cerbosOf(bench: Bench, prepared: Prepared, leftOut: string[]): Promise<Server | undefined> {
  if (!bench.peers) return undefined
  const folder = await bench.fixtures.scratch()
  await writeCerbosPolicy(`${folder}/policies`)
  let cerbos: Server | undefined
  try {
    cerbos = { ...(await startCerbos({ folder, batch: BATCH })), name: 'Cerbos', target: prepared.target }
    await expectDecisions(cerbos, '', [toldQuestionAbout('1'), true])
    await expectDecisions(cerbos, '', [toldQuestionAbout('1', 'u8'), false])
    return cerbos
  } catch (error) {
    await cerbos?.stop()
    leftOut.push((error as Error).message)
    return undefined
  }
}

/** Throws BenchFailure. */
async function expectDecisions(
  { name, base }: Server,
  token: string,
  [question, expected]: readonly [question: object, expected: boolean],
): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` }
  const post = async (path: string, body: object): Promise<Answered> => {
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answer.json()) as Answered
  }
  const one = await post(ONE, question)
  const many = await post(MANY, { evaluations: Array(BATCH).fill(question) })
  const all: readonly Answered[] = [one, ...(many.evaluations ?? [])]
  if (all.length === BATCH + 1 && all.every(({ decision }) => decision === expected)) return
  throw new BenchFailure(`\`${name}\` is not measured, because it decides wrongly: ${JSON.stringify([one, many])}`)
}

function withDecisions({ subject, quantities }: Row): Row {
  if (subject === GET) return { subject, quantities }
  const each = subject === BATCHED || subject === CERBOS_BATCHED ? BATCH : 1
  const perSecond = (quantities['req/s'] ?? []).map((value) => value * each)
  const micros = (quantities['CPU us/req'] ?? []).map((value) => value / each)
  return { subject, quantities: { ...quantities, [DECISIONS]: perSecond, 'CPU us/decision': micros } }
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const ratio = (quantity: string, over: string, under: string) => ratios(quantity, row(over), row(under))
  const all: readonly Target[] = [
    { what: 'req/s of evaluation / guarded GET', atLeast: 0.6, values: ratio('req/s', SINGLE, GET) },
    { what: `decisions/s of ${BATCHED} / single`, atLeast: 6, values: ratio(DECISIONS, BATCHED, SINGLE) },
    { what: 'decisions/s of evaluation / Cerbos', atLeast: 1, values: ratio(DECISIONS, SINGLE, CERBOS_SINGLE) },
    { what: `decisions/s of ${BATCHED} / Cerbos`, atLeast: 1, values: ratio(DECISIONS, BATCHED, CERBOS_BATCHED) },
  ]
  return all.filter(({ values }) => values.length > 0)
}
