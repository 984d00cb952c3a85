/** The oracle keeps the promises of docs/semantics.md, for random policies, objects, callers and requests. */
import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../runs.ts'
import { type Asked, askedAbout, randomAsked } from './arbitrary-language.ts'
import { TASKS } from './language-fixture.ts'
import { answer } from './oracle/answer.ts'
import { grantedOnResult, inView, onObject, queryable, relationsOf, roleLevel, transitionOf } from './oracle.ts'
import type { Plain } from './world.ts'

const RUNS = { numRuns: runs(1000) }

function objectsOf({ world }: Asked): readonly Plain[] {
  return world.objects?.get(world.resource.name) ?? []
}

function holds(promise: (asked: Asked, object: Plain) => void) {
  return fc.property(randomAsked, (asked) => {
    for (const object of objectsOf(asked)) promise(asked, object)
  })
}

describe('the oracle of the second edition', () => {
  it('grants no more on a result than on the stored object', () => {
    fc.assert(
      fc.property(randomAsked, randomAsked, (asked, other) => {
        const { world, request } = asked
        for (const stored of objectsOf(asked)) {
          const proposed = { ...objectsOf(other)[0], id: stored.id ?? null }
          const second = grantedOnResult(world, request.action, transitionOf(world, stored, proposed))
          expect([...onObject(world, request.action, stored)]).to.include.members([...second])
        }
      }),
      RUNS,
    )
  })

  it('passes the role level wherever an object would be allowed', () => {
    fc.assert(
      holds(({ world, request }, object) => {
        const allowed = onObject(world, request.action, object).size > 0
        if (allowed) expect(roleLevel(world, request.action)).to.equal(true)
      }),
      RUNS,
    )
  })

  it('shows the fields that a list may be filtered by in each of its rows', () => {
    fc.assert(
      holds(({ world, request: { view } }, object) => {
        const shown = onObject(world, 'list', object)
        const legible = inView(shown, view)
        if (legible.size > 0) expect([...legible]).to.include.members([...inView(queryable(world), view)])
      }),
      RUNS,
    )
  })

  it('asks to step up only where the sign-ins that it names, and no fewer, get further', () => {
    fc.assert(
      fc.property(randomAsked, ({ world, request }) => {
        const { status, stepUp } = answer(world, request)
        if (!stepUp) return
        expect(status).to.equal(401)
        expect(world.caller.credential).to.not.equal('api-key')
        const after = answer({ ...world, assumed: new Set(stepUp) }, request)
        expect(after.stepUp).to.not.deep.equal(stepUp)
        if (stepUp.length === 1) return
        for (const name of stepUp) {
          expect(answer({ ...world, assumed: new Set([name]) }, request).status).to.not.be.below(400)
        }
      }),
      RUNS,
    )
  })

  it('names, of sign-ins that get as far, the first in the file', () => {
    const [drawn] = fc.sample(askedAbout(TASKS), { numRuns: 1, seed: 1 })
    if (!drawn) throw new Error('nothing was drawn')
    const terms = [['late', 'first'], ['second'], ['first']]
    const rule = { subject: 'everyone', resource: 'tasks', actions: ['list'], views: ['*'], effect: 'allow' } as const
    const rules = terms.map((relations) => ({ ...rule, relations }))
    const signedIn = { signedIn: { acr: ['strong'] } }
    const conditions = new Map(['late', 'first', 'second'].map((name) => [name, signedIn]))
    const caller = { id: 'u1', roles: [], claims: {}, credential: 'password' }
    const world = { ...drawn.world, caller, policy: { ...drawn.world.policy, rules, conditions } }
    expect(answer(world, { action: 'list' })).to.deep.equal({ status: 401, stepUp: ['first'] })
  })

  it('relates no caller without credentials by what a relation compares with the caller', () => {
    fc.assert(
      holds(({ world }, object) => {
        const anonymous = { ...world, caller: { roles: [], claims: { tenant: 'x', teams: 'red' } } }
        expect([...relationsOf(anonymous, object)]).to.not.include.oneOf(['owner', 'tenant', 'team', 'self', 'direct'])
      }),
      RUNS,
    )
  })

  it('is asked questions with every answer', () => {
    const found = new Map<number, number>()
    for (const { world, request } of fc.sample(randomAsked, { numRuns: 2000, seed: 1 })) {
      const { status } = answer(world, request)
      found.set(status, (found.get(status) ?? 0) + 1)
    }
    expect([...found.keys()].toSorted()).to.deep.equal([200, 201, 204, 400, 401, 403, 404])
    expect(Math.min(...found.values())).to.be.greaterThan(10)
  })
})
