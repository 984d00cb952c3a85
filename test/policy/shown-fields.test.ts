/** What reads, lists and answers to writes show: the fields that the oracle grants on that very object, no other. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { meets } from '../../src/decide/conditions/condition.ts'
import { decideOnObject, decideRole, decideRoute, type Question } from '../../src/decide/decide.ts'
import { CreateDecision, type Decision } from '../../src/decide/decision.ts'
import type { CallerGrants } from '../../src/decide/grants/caller-grants.ts'
import { ListDecision } from '../../src/decide/grants/list-decision.ts'
import { isRefusal, type Refusal } from '../../src/decide/refusal.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { represent } from '../../src/resources/object.ts'
import type { Route } from '../../src/resources/resource.ts'
import { rowWriter } from '../../src/store/lists/json-row.ts'
import { listedOf } from '../listed.ts'
import { runs } from '../runs.ts'
import { randomCaller, randomObject } from './arbitrary.ts'
import { generousPolicy, type WrittenPolicy } from './arbitrary-policy.ts'
import { grantedIn, isReachable } from './expected-cells.ts'
import { DOCS } from './fixture.ts'
import { onObject, relationsOf } from './oracle.ts'
import { grantsOf, settled, snapshotOf, storedOf, worldOf } from './product.ts'
import type { OracleCaller, Plain, World } from './world.ts'

const ACTIONS = [...DOCS.actions.keys()]

interface Look {
  readonly policy: WrittenPolicy
  readonly caller: OracleCaller
  readonly action: string
  readonly object: Plain
  readonly view: ReadonlySet<string> | undefined
  /** Of a list: the fields that the query asks for. */
  readonly asked: ReadonlySet<string> | undefined
}

const randomLook: fc.Arbitrary<Look> = fc.record({
  policy: generousPolicy,
  caller: randomCaller,
  action: fc.constantFrom(...ACTIONS),
  object: randomObject,
  view: someFields(),
  asked: someFields(),
})

function someFields(): fc.Arbitrary<ReadonlySet<string> | undefined> {
  const fields = fc.subarray([...DOCS.fields.keys()], { minLength: 1 }).map((names) => new Set(names))
  return fc.option(fields, { nil: undefined })
}

/** What an answer shows, by who gives it; `refused` where there is none. */
type Shown = Readonly<Record<'role' | 'route' | 'read' | 'row' | 'created' | 'updated' | 'deleted', unknown>>
type Shower = (look: Look, world: World) => Shown | Promise<Shown>

const product: Shower = async ({ policy, caller, action, object, view, asked }) => {
  const snapshot = snapshotOf(policy.files)
  const grants: CallerGrants = { ...(await grantsOf(snapshot, caller, DOCS, action)), view }
  const stored = storedOf(object)
  const rows = new ListDecision(grants)
  return {
    role: told(decideRole(grants), ({ kind }) => kind),
    route: told(
      decideRoute(snapshot, questionOf(snapshot, caller), grants.table),
      (route) => route.kind === 'route' && [...route.fields].sort(),
    ),
    read: told(settled(decideOnObject(grants, 'read', stored)), (read) => read.kind === 'read' && read.representation),
    row: meets(rows.where, object) ? rowWriter(rows.rowFields(asked))(listedOf(stored)) : 'not listed',
    created: settled(new CreateDecision(grants).show(stored)),
    updated: told(settled(decideOnObject(grants, 'update', stored)), (update) =>
      update.kind === 'update' ? settled(update.show(stored)) : update.kind,
    ),
    deleted: told(settled(decideOnObject(grants, 'delete', stored)), ({ kind }) => kind),
  }
}

/** A route that concerns no object, as OPTIONS: no rule here names a condition. */
function questionOf(snapshot: Snapshot, { id, roles, claims }: OracleCaller): Question {
  const subject = snapshot.subjectOf(id === undefined ? undefined : { id, roles, claims })
  const route: Route = { path: '/docs', resource: 'docs', kind: 'collection', endpoints: new Map(), allow: '' }
  const endpoint = { operation: 'options', action: 'options' } as const
  return { route, endpoint, resource: DOCS, subject, blocked: false, now: 0 }
}

const oracle: Shower = ({ action, object, view, asked }, world) => {
  const fields = grantedIn(world, action, relationsOf(world, object))
  const cut = (shown: ReadonlySet<string>) => (view ? shown.intersection(view) : shown)
  const legible = cut(onObject(world, 'read', object))
  const readable = legible.size > 0 ? only(object, legible) : undefined
  const withoutRelations = grantedIn(world, action, new Set())
  return {
    role: isReachable(world, action) ? 'route' : 'refused',
    route: withoutRelations.size > 0 ? [...withoutRelations].sort() : 'refused',
    read: cut(fields).size > 0 ? only(object, cut(fields)) : 'refused',
    row: cut(fields).size > 0 ? rowOf(object, asked ? cut(fields).intersection(asked) : cut(fields)) : 'not listed',
    created: readable,
    updated: fields.size > 0 ? readable : 'refused',
    deleted: fields.size > 0 ? 'delete' : 'refused',
  }
}

function showsLikeTheOracle(shower: Shower) {
  return fc.asyncProperty(randomLook, async (look) => {
    const world = worldOf(look.policy.data, DOCS, look.caller)
    expect(await shower(look, world)).to.deep.equal(await oracle(look, world))
  })
}

describe('an answer', () => {
  it('shows the fields granted on the object as it is, cut to the view of the route', async () => {
    await fc.assert(showsLikeTheOracle(product), { numRuns: runs(700) })
  })

  const wrong: Readonly<Record<string, Shower>> = {
    'forgets the view': (look, world) => oracle({ ...look, view: undefined }, world),
    'shows after a write what was written, not what may be read': async (look, world) => ({
      ...(await oracle(look, world)),
      created: only(look.object, onObject(world, look.action, look.object)),
    }),
    'shows each row by what some other row grants': async (look, world) => ({
      ...(await oracle(look, world)),
      row: rowOf(look.object, onObject(world, look.action, { ...look.object, ownerId: 'u1' })),
    }),
    'shows in a row more than was asked for': (look, world) => oracle({ ...look, asked: undefined }, world),
    'writes a row in an order of its own': async (look, world) => {
      const { row, ...shown } = await oracle(look, world)
      return { ...shown, row: row === 'not listed' ? row : sorted(String(row)) }
    },
  }

  for (const [fault, shower] of Object.entries(wrong)) {
    it(`is compared so that one is found out that ${fault}`, async () => {
      const outcome = await fc.check(showsLikeTheOracle(shower), { numRuns: 4000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

/** Its text: the fields as `represent` has them, in that order. */
function rowOf(object: Plain, fields: ReadonlySet<string>): string {
  return JSON.stringify(only(represent(storedOf(object)), fields))
}

function sorted(row: string): string {
  const members = Object.entries(JSON.parse(row)).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(Object.fromEntries(members))
}

function told<T>(decision: Decision | Refusal, of: (decision: Decision) => T): T | 'refused' {
  return isRefusal(decision) ? 'refused' : of(decision)
}

function only(object: Plain, fields: ReadonlySet<string>): Plain {
  return Object.fromEntries(Object.entries(object).filter(([field]) => fields.has(field)))
}
