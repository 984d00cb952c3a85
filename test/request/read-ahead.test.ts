/** The object of a request is read together with the standing of its caller, and only where a known caller asks. */
import { expect } from 'chai'
import type { ParameterizedContext } from 'koa'
import { NO_FACTS } from '../../src/decide/facts.ts'
import type { Authentication } from '../../src/identity/caller.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { authenticate } from '../../src/server/stages/authenticate.ts'
import { withAhead } from '../../src/server/stages/read-ahead.ts'
import type { ObjectAhead } from '../../src/server/stages/state.ts'
import type { Store } from '../../src/store/contract.ts'
import { DamagedObject, StoreUnavailable } from '../../src/store/errors.ts'

const CALLER: Authentication = { kind: 'caller', caller: { id: 'ann', roles: [], claims: {}, credential: undefined } }
const REJECTED: Authentication = { kind: 'rejected', code: 'token-invalid', reason: 'no' }
const NOTE = { id: 'n1', version: 1, createdAt: '', updatedAt: '', document: {} }

interface Case {
  readonly id?: string
  readonly operation?: string
  readonly resource?: { readonly builtIn: boolean }
  readonly credentials?: object
  readonly forwarded?: object
  readonly knows?: boolean
  readonly verified?: Authentication | Promise<Authentication>
  readonly get?: () => unknown
}

/** What the stage leaves, and which objects were read before the caller was known. */
async function ahead(of: Case) {
  const { id = 'n1', operation = 'read', resource = { builtIn: false }, get = () => NOTE } = of
  const read: string[] = []
  const store = {
    get: (name: string, one: string) => {
      read.push(`${name}/${one}`)
      return get()
    },
    atOnce: <T>(work: () => T) => work(),
  } as unknown as Store
  const byName = new Map([['notes', { name: 'notes', ...resource }]])
  const verifier = { verify: () => of.verified ?? CALLER, knows: () => of.knows ?? true }
  const state = {
    match: { kind: 'route', route: { resource: 'notes' }, endpoint: { operation }, id },
    credentials: of.credentials ?? { kind: 'bearer', token: 't' },
    forwarded: of.forwarded,
    policy: { snapshot: {} },
  }
  const stage = authenticate(verifier, { resources: { byName } as unknown as Resources, store })
  const done = stage({ state } as unknown as ParameterizedContext<never>, async () => {})
  const first = [...read]
  await done
  return { read: first, ...(state as { ahead?: ObjectAhead; authentication?: Authentication }) }
}

describe('the object of a request', () => {
  it('is read before anything is waited for, whether the standing of its caller is at hand or not', async () => {
    for (const verified of [CALLER, Promise.resolve(CALLER)]) {
      const { read, ahead: found, authentication } = await ahead({ verified })
      expect(read).to.deep.equal(['notes/n1'])
      expect(found?.object).to.equal(NOTE)
      expect(authentication).to.equal(CALLER)
    }
  })

  const unread: readonly [string, Case][] = [
    ['for a token that was never accepted', { verified: Promise.resolve(CALLER), knows: false }],
    ['for a rejected token', { verified: REJECTED }],
    ['without credentials', { credentials: { kind: 'none' } }],
    ['for OPTIONS', { operation: 'options' }],
    ['where the program serves the resource itself', { resource: { builtIn: true } }],
    ['for the request of a gateway', { forwarded: {} }],
    ['with an id that no object can have', { id: 'a\0' }],
  ]
  for (const [title, of] of unread) {
    it(`is not read ahead ${title}`, async () => {
      const { read, ahead: found } = await ahead(of)
      expect(read).to.deep.equal([])
      expect(found).to.equal(undefined)
    })
  }

  it('is read again by whoever needs it, if it could not be read', async () => {
    const damaged = () => {
      throw new DamagedObject('the note')
    }
    const { ahead: found, authentication } = await ahead({ get: damaged })
    expect(found).to.equal(undefined)
    expect(authentication).to.equal(CALLER)
  })

  it('fails only whoever needs it, if the answer of the database fails later', async () => {
    const { ahead: found } = await ahead({ get: () => Promise.reject(new StoreUnavailable(new Error('gone'))) })
    const failure = await Promise.resolve(found?.object).catch((error) => error)
    expect(failure).to.be.instanceOf(StoreUnavailable)
  })

  it('stands in for no other object', () => {
    const facts = { ...NO_FACTS, object: (resource: string, id: string) => ({ ...NOTE, id: `${resource}/${id}` }) }
    const read = withAhead(facts, { resource: 'notes', id: 'n1', object: NOTE })
    expect(read.object('notes', 'n1')).to.equal(NOTE)
    expect(read.object('notes', 'n2')).to.include({ id: 'notes/n2' })
    expect(read.object('users', 'n1')).to.include({ id: 'users/n1' })
    expect(withAhead(facts, undefined).object('notes', 'n1')).to.include({ id: 'notes/n1' })
  })
})
