/** A fault while deciding refuses: whatever breaks between the request and the decision, nobody gets a 2xx from it. */

import { Enforcer } from 'casbin'
import { expect } from 'chai'
import { GrantTable } from '../src/decide/grants/grant-table.ts'
import { Snapshot } from '../src/decide/snapshot.ts'
import type { TokenVerifier } from '../src/identity/caller.ts'
import { StoreUnavailable } from '../src/store/errors.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './server.ts'

type Verb = 'read' | 'list' | 'create' | 'replace' | 'update' | 'delete'

interface Fault {
  readonly name: string
  /** Breaks something, and returns how to fix it where it would outlive the server. */
  readonly inject: (server: TestServer) => undefined | (() => void)
  /** The requests that pass the broken part. */
  readonly verbs?: readonly Verb[]
  readonly options?: TestServerOptions
  /** Who asks, instead of the owner. */
  readonly caller?: { readonly subject: string; readonly roles: readonly string[] }
}

const VERBS: readonly Verb[] = ['list', 'read', 'update', 'replace', 'create', 'delete']
const ITEM: readonly Verb[] = ['read', 'update', 'replace', 'delete']
const SECRET = 'the inner text of the fault'
const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

const boom = (): never => {
  throw new Error(SECRET)
}
const rejects = async (): Promise<never> => boom()

/** Replaces a member of an object (or prototype) until it is fixed. */
function put(target: object, member: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(target, member)
  Object.defineProperty(target, member, { value, configurable: true, writable: true })
  return () => {
    if (before) Object.defineProperty(target, member, before)
    else Reflect.deleteProperty(target, member)
  }
}

const verifierThat = (verify: TokenVerifier['verify']): TestServerOptions => ({ verifier: { verify } })
const nothing = () => undefined
const clock = { broken: false }
const noLines = '# nothing is allowed\n'

const FAULTS: readonly Fault[] = [
  { name: 'Casbin throws', inject: () => put(Enforcer.prototype, 'enforceSync', boom) },
  { name: 'Casbin answers with a promise', inject: () => put(Enforcer.prototype, 'enforceSync', async () => true) },
  { name: 'Casbin answers with text', inject: () => put(Enforcer.prototype, 'enforceSync', () => 'true') },
  { name: 'Casbin answers with 1', inject: () => put(Enforcer.prototype, 'enforceSync', () => 1) },
  { name: 'Casbin answers nothing', inject: () => put(Enforcer.prototype, 'enforceSync', nothing) },
  { name: 'Casbin cannot take a function', inject: () => put(Enforcer.prototype, 'addFunction', rejects) },
  { name: 'Casbin cannot load the rules', inject: () => put(Enforcer.prototype, 'loadPolicy', rejects) },
  { name: 'Casbin loads no rules', inject: () => put(Enforcer.prototype, 'loadPolicy', async () => undefined) },
  { name: 'the table of an action cannot be made', inject: () => put(Snapshot.prototype, 'table', rejects) },
  { name: 'the table of an action is missing', inject: () => put(Snapshot.prototype, 'table', async () => undefined) },
  { name: 'a cell cannot be made', inject: () => put(GrantTable.prototype, 'grant', boom) },
  { name: 'a cell is missing', inject: () => put(GrantTable.prototype, 'grant', nothing) },
  { name: 'the list filter throws', inject: () => put(GrantTable.prototype, 'where', boom), verbs: ['list'] },
  { name: 'the list filter is missing', inject: () => put(GrantTable.prototype, 'where', nothing), verbs: ['list'] },
  { name: 'the subjects of a caller are unknown', inject: () => put(Snapshot.prototype, 'subjectOf', boom) },
  { name: 'the ownership resolver throws', inject: () => put(Snapshot.prototype, 'ownershipOf', boom) },
  {
    name: 'the ownership resolver knows no relations',
    inject: () => put(Snapshot.prototype, 'ownershipOf', nothing),
    verbs: [...ITEM, 'create'],
  },
  { name: 'the policy is empty', inject: nothing, options: { files: { 'policies/policy.csv': noLines } } },
  { name: 'the caller has no role', inject: nothing, caller: { subject: 'alice', roles: [] } },
  { name: 'the role is unknown', inject: nothing, caller: { subject: 'alice', roles: ['superuser'] } },
  { name: 'the role has another case', inject: nothing, caller: { subject: 'alice', roles: ['Member'] } },
  { name: 'the role is a name of Object', inject: nothing, caller: { subject: 'alice', roles: ['constructor'] } },
  { name: 'the role is everyone', inject: nothing, caller: { subject: 'alice', roles: ['everyone'] } },
  { name: 'the subject is a role', inject: nothing, caller: { subject: 'admin', roles: [] } },
  { name: 'the store is closed', inject: ({ app }) => void app.store.close() },
  { name: 'the store cannot read', inject: ({ app }) => put(app.store, 'get', rejects), verbs: ITEM },
  {
    name: 'the store is out of reach',
    inject: ({ app }) => put(app.store, 'get', () => Promise.reject(new StoreUnavailable(SECRET))),
    verbs: ITEM,
  },
  { name: 'the store gives no object', inject: ({ app }) => put(app.store, 'get', nothing), verbs: ITEM },
  { name: 'the store gives an empty object', inject: ({ app }) => put(app.store, 'get', () => ({})), verbs: ITEM },
  {
    name: 'the store gives an object without its document',
    inject: ({ app }) => put(app.store, 'get', async () => ({ id: ID, version: 1, document: null })),
    verbs: ITEM,
  },
  { name: 'the store cannot list', inject: ({ app }) => put(app.store, 'list', rejects), verbs: ['list'] },
  {
    name: 'the store cannot write',
    inject: ({ app }) => void ['create', 'update', 'delete'].map((method) => put(app.store, method, rejects)),
    verbs: ['create', 'update', 'replace', 'delete'],
  },
  { name: 'the verifier throws', inject: nothing, options: verifierThat(rejects) },
  { name: 'the verifier answers nothing', inject: nothing, options: verifierThat(async () => undefined as never) },
  { name: 'the verifier answers nonsense', inject: nothing, options: verifierThat(async () => ({}) as never) },
  {
    name: 'the verifier finds no caller',
    inject: nothing,
    options: verifierThat(async () => ({ kind: 'caller' }) as never),
  },
  {
    name: 'the key server is down',
    inject: nothing,
    options: verifierThat(async () => ({ kind: 'failed', code: 'key-server-unavailable', cause: SECRET })),
  },
  {
    name: 'the clock throws',
    inject: () => {
      clock.broken = true
      return () => {
        clock.broken = false
      }
    },
    options: { now: () => (clock.broken ? boom() : new Date()) },
    caller: { subject: 'blocked', roles: ['member'] },
  },
  { name: 'the caller is blocked', inject: nothing, caller: { subject: 'blocked', roles: ['member'] } },
]

describe('a fault in the path of a decision', () => {
  it('is injected in more than thirty places', () => {
    expect(new Set(FAULTS.map(({ name }) => name)).size).to.be.at.least(30)
  })

  it('without a fault every one of these requests is answered with a 2xx', async () => {
    const answers = await outcomes({ name: 'none', inject: nothing })
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 201, 204])
  })

  for (const fault of FAULTS) {
    it(`${fault.name}: no 2xx, and no word of it to the client`, async () => {
      const answers = await outcomes(fault)
      expect(answers).to.have.length((fault.verbs ?? VERBS).length)
      for (const { verb, status, text } of answers) {
        expect(status, `${verb}: ${text}`).to.be.at.least(400)
        expect(text).to.include('"code":').and.not.include(SECRET)
      }
    })
  }
})

async function outcomes(fault: Fault): Promise<readonly { verb: Verb; status: number; text: string }[]> {
  const files = { 'policies/blocked.txt': 'user:blocked until=2999-01-01T00:00:00Z\n', ...fault.options?.files }
  const server = await startTestServer({
    ...fault.options,
    files,
    uncheckedBecause: 'the document is made by what is sabotaged',
  })
  const { subject, roles } = fault.caller ?? { subject: 'alice', roles: ['member'] }
  const document = { ownerId: subject, title: 'mine' }
  await server.app.seeding.insert('notes', [
    { id: ID, document },
    { id: ID.replace('0', '1'), document },
  ])
  const token = await server.token(subject, ...roles)
  const fix = fault.inject(server)
  try {
    const answers: { verb: Verb; status: number; text: string }[] = []
    for (const verb of fault.verbs ?? VERBS) answers.push({ verb, ...(await request(server, verb, token)) })
    return answers
  } finally {
    fix?.()
    await server.stop()
  }
}

function request(server: TestServer, verb: Verb, token: string): Promise<{ status: number; text: string }> {
  const item = `/api/v1/notes/${ID}`
  const body = { title: 'changed' }
  switch (verb) {
    case 'read':
      return server.ask('GET', item, { token })
    case 'list':
      // One of two, so that the next page needs a cursor.
      return server.ask('GET', '/api/v1/notes?limit=1', { token })
    case 'create':
      return server.ask('POST', '/api/v1/notes', { token, body })
    case 'replace':
      return server.ask('PUT', item, { token, body })
    case 'update':
      return server.ask('PATCH', item, { token, body })
    case 'delete':
      return server.ask('DELETE', item, { token })
  }
}
