/**
 * The object of a request is read together with the account status of its caller, and only where a known caller asks.
 */
import { expect } from 'chai'
import type { ParameterizedContext } from 'koa'
import type { FactNeed, Steps } from '../../src/decide/facts.ts'
import type { Authentication } from '../../src/identity/caller.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { authenticate } from '../../src/server/stages/authenticate.ts'
import { decidePrefetched } from '../../src/server/stages/authorize.ts'
import type { PrefetchedObject } from '../../src/server/stages/state.ts'
import type { Store } from '../../src/store/contract.ts'
import { DamagedObject } from '../../src/store/errors.ts'

const CALLER: Authentication = { kind: 'caller', caller: { id: 'ann', roles: [], claims: {}, credential: undefined } }
const REJECTED: Authentication = { kind: 'rejected', code: 'token-invalid', reason: 'no' }
const NOTE = { id: 'n1', version: 1, createdAt: '', updatedAt: '', document: {} }

interface Case {
  readonly id?: string
  readonly operation?: string
  readonly resource?: { readonly builtIn: boolean }
  readonly credentials?: object
  readonly forwarded?: object
  readonly verified?: Authentication | Promise<Authentication>
  readonly get?: () => unknown
}

/** What the stage leaves, and what it asked the database for, in order. */
async function prefetched(of: Case) {
  const { id = 'n1', operation = 'read', resource = { builtIn: false }, get = () => NOTE } = of
  const looks: string[] = []
  const store = {
    get: (name: string, one: string) => {
      looks.push(`${name}/${one}`)
      return get()
    },
    inOneReadTransaction: <T>(work: () => T) => {
      looks.push('begin')
      const done = work()
      looks.push('end')
      return done
    },
  } as unknown as Store
  const byName = new Map([['notes', { name: 'notes', ...resource }]])
  const verify = () => {
    looks.push('accountStatus')
    return of.verified ?? CALLER
  }
  const state = {
    match: { kind: 'route', route: { resource: 'notes' }, endpoint: { operation }, id },
    credentials: of.credentials ?? { kind: 'bearer', token: 't' },
    forwarded: of.forwarded,
    policy: { snapshot: {} },
  }
  const stage = authenticate({ verify }, { resources: { byName } as unknown as Resources, store })
  await stage({ state } as unknown as ParameterizedContext<never>, async () => {})
  return { looks, ...(state as { prefetched?: PrefetchedObject; authentication?: Authentication }) }
}

describe('the object of a request', () => {
  it('is read in the same look at the database as the account status of its caller', async () => {
    const { looks, prefetched: found, authentication } = await prefetched({})
    expect(looks).to.deep.equal(['begin', 'accountStatus', 'notes/n1', 'end'])
    expect(found?.object).to.equal(NOTE)
    expect(authentication).to.equal(CALLER)
  })

  const unread: readonly [string, Case][] = [
    ['where the account status of its caller takes a message to the database', { verified: Promise.resolve(CALLER) }],
    ['for a rejected token', { verified: REJECTED }],
    ['without credentials', { credentials: { kind: 'none' } }],
    ['for OPTIONS', { operation: 'options' }],
    ['where the program serves the resource itself', { resource: { builtIn: true } }],
    ['for the request of a gateway', { forwarded: {} }],
    ['with an id that no object can have', { id: 'a\0' }],
  ]
  for (const [title, of] of unread) {
    it(`is not prefetched ${title}`, async () => {
      const { looks, prefetched: found } = await prefetched(of)
      expect(looks).to.not.include('notes/n1')
      expect(found).to.equal(undefined)
    })
  }

  it('is read again by whoever needs it, if it could not be read', async () => {
    const damaged = () => {
      throw new DamagedObject('the note')
    }
    const { prefetched: found, authentication } = await prefetched({ get: damaged })
    expect(found).to.equal(undefined)
    expect(authentication).to.equal(CALLER)
  })

  describe('decides alone', () => {
    const object: FactNeed = { kind: 'object', resource: 'notes', id: 'n1' }
    const known = { resource: 'notes', id: 'n1', object: NOTE }
    function* asking(...needs: readonly FactNeed[]): Steps<unknown, FactNeed> {
      let last: unknown = 'nothing'
      for (const need of needs) last = yield need
      return last
    }

    it('where nothing else is asked for', () => {
      expect(decidePrefetched(asking(object), known)).to.equal(NOTE)
      expect(decidePrefetched(asking(), known)).to.equal('nothing')
    })

    it('and never together with a fact that would be newer, or with another object', () => {
      const lookup = { kind: 'lookup' } as unknown as FactNeed
      for (const other of [
        { kind: 'caller', id: 'ann' } as const,
        lookup,
        { ...object, id: 'n2' },
        { ...object, resource: 'users' },
      ]) {
        expect(decidePrefetched(asking(other, object), known), JSON.stringify(other)).to.equal(undefined)
        expect(decidePrefetched(asking(object, other), known), JSON.stringify(other)).to.equal(undefined)
      }
    })
  })
})
