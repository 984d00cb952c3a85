/** Names with another meaning: whatever a request gains or loses by it, the diff names that direction. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { type Direction, directionOf, type PolicyDifference } from '../../../src/analysis/diff/change.ts'
import { Incomparable } from '../../../src/analysis/diff/compare-decisions.ts'
import { comparePolicies } from '../../../src/analysis/diff/compare-policies.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { type Asked, askedAbout } from '../../policy/arbitrary-language.ts'
import { objectOf } from '../../policy/arbitrary-objects.ts'
import { LANGUAGE_RESOURCES, ORACLE_RESOURCES, STORED, TASKS } from '../../policy/language-fixture.ts'
import { faultsOf } from '../../policy/oracle/faults.ts'
import { grantedOnResult, grantedWithoutObject, onObject, roleLevel, transitionOf } from '../../policy/oracle.ts'
import { render } from '../../policy/render.ts'
import type { OracleCondition, OraclePolicy, OracleRelation, Plain, World } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import type { PolicyPair } from './policy-pairs.ts'
import { effectsAt } from './promises.ts'

type Relations = OraclePolicy['relations']

/** Other meanings of some names. */
const RELATIONS: Readonly<Record<string, Readonly<Record<string, OracleRelation>>>> = {
  tasks: {
    open: { field: 'status', in: ['open', 'claimed'] },
    active: { field: 'status', in: ['open'] },
    team: { field: 'team', equals: 'tenant' },
    owner: { field: 'watchers', equals: 'id' },
    assigned: { field: 'assigneeId', in: ['u1'] },
    small: { field: 'total', atMost: 100 },
    inOpen: { through: 'projectId', to: 'projects', relation: 'member' },
    member: { through: 'projectId', to: 'projects', relation: 'staff' },
    either: { any: ['owner'] },
    both: { any: ['mine', 'open'] },
  },
  projects: { lead: { field: 'name', equals: 'id' }, open: { field: 'state', in: ['open', 'shut'] } },
  memberships: { self: { field: 'taskIds', equals: 'id' }, editor: { all: ['self'] } },
  folders: {
    inherited: { through: 'parentId', to: 'folders', relation: 'direct', depth: 5 },
    open: { field: 'state', present: true },
  },
}

const CONDITIONS: Readonly<Record<string, OracleCondition>> = {
  office: { network: ['192.0.2.0/25', '198.51.100.0/24'] },
  hours: { days: 'mon-fri', from: '09:00', to: '17:00', zone: 'Europe/Berlin' },
  fresh: { signedIn: { within: '1h' } },
  strong: { signedIn: { acr: ['urn:example:mfa', 'urn:example:pwd'] } },
  machine: { credential: ['api-key', 'provider'] },
}

interface Case {
  readonly pair: PolicyPair
  readonly world: World
  readonly stored: Plain
  readonly proposed: Plain
}

const randomCase: fc.Arbitrary<Case> = fc
  .record({
    asked: askedAbout(TASKS, TASKS, ...STORED),
    relations: fc.subarray(
      Object.entries(RELATIONS).flatMap(([resource, named]) => Object.keys(named).map((name) => ({ resource, name }))),
    ),
    conditions: fc.subarray(Object.keys(CONDITIONS)),
    dropped: fc.option(fc.nat(20), { freq: 2 }),
  })
  .chain(({ asked, ...chosen }) => {
    const resource = STORED.find(({ name }) => name === asked.world.resource.name) ?? TASKS
    return fc.tuple(objectOf(resource, 'x'), objectOf(resource, 'x')).map(([stored, proposed]) => {
      const pair = { before: asked.world.policy, after: redefined(asked.world.policy, chosen) }
      return { pair, world: asked.world, stored: storedIn(asked) ?? stored, proposed }
    })
  })

function storedIn({ world, request }: Asked): Plain | undefined {
  return world.objects?.get(world.resource.name)?.find(({ id }) => id === request.id)
}

interface Chosen {
  readonly relations: readonly { readonly resource: string; readonly name: string }[]
  readonly conditions: readonly string[]
  /** The rule that the new policy lacks. */
  readonly dropped: number | null
}

/** Leaves out what would be a fault. */
function redefined(policy: OraclePolicy, { relations, conditions, dropped }: Chosen): OraclePolicy {
  const named = relations.reduce<Relations>((now, { resource, name }) => {
    const other = RELATIONS[resource]?.[name]
    const own = now.get(resource)
    if (!other || !own?.has(name)) return now
    const next = new Map(now).set(resource, new Map(own).set(name, other))
    return faultsOf({ policy: { ...policy, relations: next }, resources: ORACLE_RESOURCES }).length === 0 ? next : now
  }, policy.relations)
  const changed = [...(policy.conditions ?? [])].map(([name, one]) => {
    return [name, (conditions.includes(name) ? CONDITIONS[name] : undefined) ?? one] as const
  })
  const rules = policy.rules.filter((_, i) => dropped === null || i !== dropped % policy.rules.length)
  return { ...policy, relations: named, conditions: new Map(changed), rules }
}

type Diff = (pair: PolicyPair) => readonly PolicyDifference[]

const diffOf: Diff = ({ before, after }) =>
  comparePolicies({ before: reviewed(before), after: reviewed(after) }, { resources: LANGUAGE_RESOURCES, now: 0 })

function reviewed(data: OraclePolicy) {
  const files = render(data, { lineEnd: '\n', padding: ' ', comments: false })
  return { policy: parsePolicy(files, LANGUAGE_RESOURCES), blocked: new Map() }
}

let met = 0

function hasTheDirection(diff: Diff) {
  return fc.property(randomCase, (one) => {
    const effects = new Set(
      [...one.world.resource.withoutFields, ...WITH_FIELDS].flatMap((action) => effectsOn(one, action)),
    )
    if (effects.size === 0) return
    const directions = directionsIn(diff, one.pair)
    if (!directions) return
    met++
    if (effects.has('gains')) expect([...directions]).to.include.oneOf(['widening', 'either'])
    if (effects.has('loses')) expect([...directions]).to.include.oneOf(['narrowing', 'either'])
  })
}

/** Undefined where the diff refuses to compare: the rules distinguish too many sets of relations. */
function directionsIn(diff: Diff, pair: PolicyPair): ReadonlySet<Direction> | undefined {
  try {
    return new Set(diff(pair).map(directionOf))
  } catch (error) {
    if (error instanceof Incomparable) return undefined
    throw error
  }
}

const WITH_FIELDS = ['list', 'read', 'create', 'replace', 'update']

function effectsOn({ pair, world, stored, proposed }: Case, action: string) {
  const [before, after] = [pair.before, pair.after].map((policy): World => ({ ...world, policy }))
  if (!before || !after) return []
  const decided = (of: (world: World) => ReadonlySet<string>) => effectsAt({ before: of(before), after: of(after) })
  const isWrite = action === 'replace' || action === 'update'
  if (action === 'options') return decided((one) => grantedWithoutObject(one, action))
  return [
    ...decided((one) => new Set(roleLevel(one, action) ? ['*'] : [])),
    ...(isWrite
      ? decided((one) => grantedOnResult(one, action, transitionOf(one, stored, proposed)))
      : decided((one) => onObject(one, action, stored))),
  ]
}

describe('a diff of names with another meaning', () => {
  it('has the direction of what requests of the second edition gain or lose', async () => {
    await drawing(
      () =>
        fc.assert(hasTheDirection(diffOf) as fc.IProperty<unknown>, {
          numRuns: runs(900),
        }),
      () => {
        expect(met).to.be.above(0)
      },
    )
  })

  const wrong: Readonly<Record<string, (change: PolicyDifference) => boolean>> = {
    'forgets relations': ({ kind }) => kind !== 'relation',
    'forgets conditions': ({ kind }) => kind !== 'condition',
    'forgets decisions': ({ kind }) => kind !== 'decision',
  }
  for (const [fault, keeps] of Object.entries(wrong)) {
    it(`is compared so that a diff is found out that ${fault}`, () => {
      const property = hasTheDirection((pair) => diffOf(pair).filter(keeps)) as fc.IProperty<unknown>
      const outcome = fc.check(property, { numRuns: 10_000, seed: 3, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
