/**
 * `npm run interop`: asks Cerbos with the client, and then shows where its answers differ from the standard. Exits with 1
 * when the client doesn't get what it should.
 */
import { deepStrictEqual } from 'node:assert'
import { AuthzenClient, AuthzenError, type Question } from '../src/index.ts'
import { startCerbos } from './cerbos.ts'

const STATUS = { 'record-1': 'active', 'record-2': 'archived' }

/** Cerbos stores no entities, so that the question has their attributes. */
function question(subject: string, role: string, action: string, record: keyof typeof STATUS): Question {
  return {
    subject: { type: 'user', id: subject, properties: { 'cerbos.roles': [role] } },
    action: { name: action },
    resource: { type: 'record', id: record, properties: { status: STATUS[record] } },
  }
}

const CELLS: readonly (readonly [Question, boolean])[] = [
  [question('alice', 'user', 'read', 'record-1'), true],
  [question('alice', 'user', 'write', 'record-1'), true],
  [question('bob', 'user', 'read', 'record-1'), true],
  [question('bob', 'user', 'write', 'record-1'), false],
  [question('alice', 'user', 'write', 'record-2'), false],
  [question('alice', 'admin', 'write', 'record-2'), true],
  [question('alice', 'user', 'delete', 'record-1'), false],
]
const QUESTIONS = CELLS.map(([one]) => one)
const EXPECTED = CELLS.map(([, decision]) => decision)
const [READ] = QUESTIONS
const INCOMPLETE = { ...READ, resource: undefined } as unknown as Question

const cerbos = await startCerbos()
const client = await AuthzenClient.discover({ url: cerbos.url, timeoutMs: 10_000 })
const alone = new AuthzenClient({ url: cerbos.url, timeoutMs: 10_000, batch: false })

const decisionsOf = (all: readonly { readonly decision: boolean }[]) => all.map(({ decision }) => decision)
const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'no error',
    (error) => (error instanceof AuthzenError ? `${error.code} ${error.status ?? ''}`.trim() : String(error)),
  )

const CLIENT: Readonly<Record<string, () => Promise<void>>> = {
  'discovery names the server': async () => {
    deepStrictEqual(
      await codeOf(client.search('subject', { ...READ, subject: { type: 'user' } } as Question)),
      'not-offered',
    )
  },
  'evaluate, one by one': async () => {
    const decisions: boolean[] = []
    for (const one of QUESTIONS) decisions.push((await alone.evaluate(one)).decision)
    deepStrictEqual(decisions, EXPECTED)
  },
  'evaluate, in one turn': async () => {
    deepStrictEqual(decisionsOf(await Promise.all(QUESTIONS.map((one) => client.evaluate(one)))), EXPECTED)
  },
  'evaluations, 120 questions, split': async () => {
    const many = Array.from({ length: 120 }, (_, i) => QUESTIONS[i % 7] as Question)
    deepStrictEqual(
      decisionsOf(await client.evaluations(many)),
      many.map((_, i) => EXPECTED[i % 7]),
    )
  },
  'evaluations, three semantics and defaults': async () => {
    deepStrictEqual(decisionsOf(await client.evaluations(QUESTIONS)), EXPECTED)
    deepStrictEqual(decisionsOf(await client.evaluations(QUESTIONS, { semantic: 'deny_on_first_deny' })), [
      ...[true, true, true, false],
    ])
    deepStrictEqual(
      decisionsOf(await client.evaluations(QUESTIONS.toReversed(), { semantic: 'permit_on_first_permit' })),
      [false, true],
    )
    const { subject, resource } = READ as Question
    const actions = ['read', 'write', 'delete'].map((name) => ({ action: { name } }))
    deepStrictEqual(decisionsOf(await client.evaluations(actions, { defaults: { subject, resource } })), [
      true,
      true,
      false,
    ])
  },
  'an incomplete question fails alone, and not its neighbours': async () => {
    const asked = [client.evaluate(READ as Question), codeOf(client.evaluate(INCOMPLETE))] as const
    deepStrictEqual([(await asked[0]).decision, await asked[1]], [true, 'refused 400'])
  },
  'no server is a denial': async () => {
    const nobody = new AuthzenClient({ url: 'http://127.0.0.1:9', timeoutMs: 2000 })
    deepStrictEqual(await nobody.allows(READ as Question), false)
  },
}

interface Raw {
  readonly standard: string
  ask(): Promise<string>
}

const post = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${cerbos.url}/access/v1/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const statusOf = async (path: string, body: unknown, headers?: Record<string, string>) =>
  String((await post(path, body, headers)).status)

const STANDARD: Readonly<Record<string, Raw>> = {
  'an unknown member': { standard: '200', ask: () => statusOf('evaluation', { ...READ, unknown: 1 }) },
  'no resource': { standard: '400', ask: () => statusOf('evaluation', INCOMPLETE) },
  'an unknown type of resource': {
    standard: 'false',
    ask: async () => {
      const answer = await post('evaluation', { ...READ, resource: { type: 'nothing', id: '1' } })
      return String((await answer.json()).decision)
    },
  },
  'the body as text/plain': {
    standard: '400 or 415',
    ask: () => statusOf('evaluation', READ, { 'Content-Type': 'text/plain' }),
  },
  'X-Request-ID comes back': {
    standard: 'r-1',
    ask: async () => String((await post('evaluation', READ, { 'X-Request-ID': 'r-1' })).headers.get('x-request-id')),
  },
  'evaluations without a list': { standard: '200', ask: () => statusOf('evaluations', READ) },
  'evaluations with an empty list': {
    standard: '200',
    ask: () => statusOf('evaluations', { ...READ, evaluations: [] }),
  },
  'an incomplete item among others': {
    standard: '200',
    ask: () => statusOf('evaluations', { evaluations: [READ, INCOMPLETE] }),
  },
  'a permit and a denial for one subject with other properties, in one batch': {
    standard: 'true,false',
    ask: async () => {
      const evaluations = [CELLS[5], CELLS[4]].map((cell) => cell?.[0])
      const answer = await (await post('evaluations', { evaluations })).json()
      return decisionsOf(answer.evaluations).join()
    },
  },
  'an unknown semantic': {
    standard: '400',
    ask: () => statusOf('evaluations', { ...READ, evaluations: [{}], options: { evaluations_semantic: 'other' } }),
  },
  'a batch of 51': { standard: '200', ask: () => statusOf('evaluations', { evaluations: Array(51).fill(READ) }) },
  'search of subjects': {
    standard: '200, or absent',
    ask: () => statusOf('search/subject', { ...READ, subject: { type: 'user' } }),
  },
}

let failed = false
const print = (text: string) => process.stdout.write(`${text}\n`)
print(`Cerbos ${cerbos.version}, Node ${process.version}`)
try {
  for (const [name, check] of Object.entries(CLIENT)) {
    const fault = await check().then(
      () => undefined,
      (error: Error) => error,
    )
    print(`${fault ? 'FAILED' : 'ok    '} ${name}${fault ? `: ${fault.message}` : ''}`)
    failed ||= fault !== undefined
  }
  print('\nThe server alone: the standard says | it answers')
  for (const [name, { standard, ask }] of Object.entries(STANDARD)) print(`${name}: ${standard} | ${await ask()}`)
} finally {
  client.close()
  alone.close()
  await cerbos.stop()
}
process.exitCode = failed ? 1 : 0
