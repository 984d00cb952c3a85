/** Explain knows the second edition: of any policy, caller and object it says what the oracle answers. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { needsCaller } from '../../../src/decide/relations/all-kinds.ts'
import type { ExplainedCase, Explanation } from '../../../src/tools/explain/explanation.ts'
import type { KnownObject } from '../../../src/tools/explain/request.ts'
import { ToolError } from '../../../src/tools/load-policy.ts'
import { type Asked, askedAbout, randomAsked } from '../../policy/arbitrary-language.ts'
import { FOLDERS, MEMBERSHIPS, ORACLE_RESOURCES, TASKS } from '../../policy/language-fixture.ts'
import { type Answer, answer } from '../../policy/oracle/answer.ts'
import { holdingConditions } from '../../policy/oracle/conditions.ts'
import { faultsOf } from '../../policy/oracle/faults.ts'
import { updated } from '../../policy/oracle/proposals.ts'
import { granted, grantedOnResult, inView, onObject, relationsOf, subsets, transitionOf } from '../../policy/oracle.ts'
import type { Json, Plain, World } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { ask, parsedOf, recordOf } from './asking-language.ts'

const RUNS = { numRuns: runs(400) }

describe('explain, of members, parents, walls and conditions', () => {
  it('says of a stored object under known conditions what the oracle answers', () => {
    fc.assert(
      fc.property(randomAsked, (asked) => {
        const object = storedObject(asked)
        if (!object || !isTold(asked)) return
        const holds = new Map([...conditionsOf(asked)])
        const found = ask(asked, aboutObject(asked, object), { conditions: { holds, from: '--with' } })
        expect(found.cases.length).to.be.below(2)
        expectAnswer(asked, object, { ...found, ...found.cases[0] })
        const held = found.relations.filter((one) => one.holds).map(({ name }) => name)
        if (found.cases.length > 0) expect(held).to.have.members([...relationsOf(asked.world, object)])
      }),
      RUNS,
    )
  })

  it('says of each object and each request that a case stands for what the oracle answers', async () => {
    const met = { told: 0, refused: 0 }
    const property = fc.property(randomAsked, (asked) => {
      const object = storedObject(asked)
      if (!object || asked.world.caller.credential === 'api-key') return
      const found = unlessTooMany(() => ask(asked, { kind: 'any', id: undefined }, {}), met)
      if (!found) return
      if (found.cases.length === 0) {
        expectAnswer(asked, object, found)
        return
      }
      const names = new Set([...relationsOf(asked.world, object), ...holdingConditions(asked.world)])
      const fitting = largestWithin(found.cases, names)
      expect(fitting.length).to.be.above(0)
      for (const one of fitting) expectAnswer(asked, object, one)
    })
    await drawing(
      () => fc.assert(property, RUNS),
      () => {
        expect(met.refused).to.be.below(met.told / 4)
      },
    )
  })

  it('has no case in which somebody without credentials is related to the object', async () => {
    let met = 0
    const property = fc.property(randomAsked, (asked) => {
      if (asked.world.resource.builtIn) return
      const world = { ...asked.world, caller: { roles: [], claims: {} } }
      const about: KnownObject = { kind: 'any', id: undefined }
      const found = unlessTooMany(() => ask({ ...asked, world }, about, {}), { told: 0, refused: 0 })
      const relations = [...(parsedOf(world.policy).ownership.get(world.resource.name)?.relations.values() ?? [])]
      const ofCaller = relations.filter(needsCaller).map(({ name }) => name)
      const held = new Set(found?.cases.flatMap((one) => one.relations))
      met += held.size
      expect([...held.intersection(new Set(ofCaller))]).to.deep.equal([])
    })
    await drawing(
      () => fc.assert(property, RUNS),
      () => {
        expect(met).to.be.above(0)
      },
    )
  })

  it('says of a write that changes one field what the oracle answers', async () => {
    const met = new Map<string, number>()
    await drawing(
      () =>
        fc.assert(
          fc.property(askedAbout(TASKS, TASKS, FOLDERS, MEMBERSHIPS), fc.nat(), (asked, pick) => {
            const change = changeOf(asked, pick)
            if (!change || !isTold(asked)) return
            const told = { conditions: { holds: new Map(conditionsOf(asked)), from: '--with' } } as const
            const { world, request } = change.asked
            const found = ask(change.asked, aboutObject(asked, change.stored), told, change.becomes)
            const expected = answer(world, request)
            const one = { ...found, ...found.cases[0] }
            met.set(String(expected.status), (met.get(String(expected.status)) ?? 0) + 1)
            if (expected.status >= 300) {
              expect(one.answer?.status).to.equal(expected.status)
              expectStepUp(change.asked, expected, one)
              return
            }
            expect(one.outcome, change.becomes).to.equal('allow')
            const granted = grantedOnResult(world, request.action, transitionOf(world, change.stored, change.proposed))
            const writable = [...granted].filter((field) => !world.resource.readOnly.includes(field))
            expect(one.fields?.writable?.toSorted()).to.deep.equal(writable.toSorted())
          }),
          { ...RUNS, numRuns: runs(1500) },
        ),
      () => {
        expect([...met.keys()]).to.include.members(['200', '403'])
      },
    )
  })

  it('names states after such a write that would be enough', async () => {
    met = 0
    await drawing(
      () =>
        fc.assert(
          isEnough(({ name }) => name),
          { ...RUNS, numRuns: runs(3000) },
        ),
      () => {
        expect(met).to.be.above(0)
      },
    )
  })

  it('would not name such states if it named any state', () => {
    const anyOther = ({ name }: NamedState, states: readonly string[]) => states.find((one) => one !== name) ?? name
    const found = fc.check(isEnough(anyOther), { numRuns: 10_000, seed: 1, endOnFailure: true })
    expect(found.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('would not agree about such a write if only the stored object were looked at', () => {
    const found = fc.check(
      fc.property(askedAbout(TASKS, TASKS, FOLDERS, MEMBERSHIPS), fc.nat(), (asked, pick) => {
        const change = changeOf(asked, pick)
        if (!change || !isTold(asked)) return
        const told = { conditions: { holds: new Map(conditionsOf(asked)), from: '--with' } } as const
        const explained = ask(change.asked, aboutObject(asked, change.stored), told)
        const { status } = answer(change.asked.world, change.asked.request)
        expect({ ...explained, ...explained.cases[0] }.outcome === 'allow').to.equal(status < 300)
      }),
      { numRuns: 3000, endOnFailure: true },
    )
    expect(found.failed).to.equal(true)
  })

  it('another policy would be explained otherwise', () => {
    const found = fc.check(
      fc.property(randomAsked, (asked) => {
        const object = storedObject(asked)
        if (!object) return
        const { policy } = asked.world
        const world = { ...asked.world, policy: { ...policy, rules: policy.rules.slice(1) } }
        const told = { conditions: { holds: new Map(conditionsOf(asked)), from: '--with' } } as const
        const explained = ask({ ...asked, world }, aboutObject(asked, object), told)
        expectAnswer(asked, object, { ...explained, ...explained.cases[0] })
      }),
      { seed: 1, numRuns: 1000, endOnFailure: true },
    )
    expect(found.failed).to.equal(true)
  })

  it('names changes that would be enough, and nothing less would be', async () => {
    let met = 0
    await drawing(
      () =>
        fc.assert(
          fc.property(randomAsked, (asked) => {
            const object = storedObject(asked)
            if (!object || asked.request.operation === 'list' || asked.request.action === 'list') return
            const holds = new Map([...conditionsOf(asked)])
            const found = ask(asked, aboutObject(asked, object), { conditions: { holds, from: '--with' } })
            const simple = found.misses.filter(({ changes }) => changes.every(({ kind }) => kind.endsWith('condition')))
            for (const { changes } of simple) {
              met += 1
              expect(isAllowedWith(asked, object, changes as readonly ConditionChange[])).to.equal(true)
              for (const left of changes) {
                const fewer = changes.filter((one) => one !== left) as readonly ConditionChange[]
                expect(isAllowedWith(asked, object, fewer)).to.equal(false)
              }
            }
          }),
          RUNS,
        ),
      () => {
        expect(met).to.be.above(0)
      },
    )
  })
})

/** Undefined where explain refuses to tell all cases: there are more than it can try. */
function unlessTooMany(
  explained: () => Explanation,
  count: { told: number; refused: number },
): Explanation | undefined {
  try {
    const told = explained()
    count.told += 1
    return told
  } catch (error) {
    if (!(error instanceof ToolError) || !error.message.includes('distinguish too many sets')) throw error
    count.refused += 1
    return undefined
  }
}

interface NamedState {
  readonly name: string
}

/** How often a state was named. */
let met = 0

/** A write is allowed if its object has, after it, the state that explain names. `naming` may name another one. */
function isEnough(naming: (state: NamedState, states: readonly string[]) => string) {
  return fc.property(askedAbout(TASKS, TASKS, FOLDERS), fc.nat(), (drawn, pick) => {
    const asked = withGate(drawn, pick)
    const change = changeOf(asked, pick)
    if (!change || !isTold(asked)) return
    const told = { conditions: { holds: new Map(conditionsOf(asked)), from: '--with' } } as const
    const about = aboutObject(asked, change.stored)
    const [before = '', after = ''] = change.becomes.split('>')
    const states = statesOf(asked.world, Object.keys(change.asked.request.body ?? {})[0] ?? '')
    for (const { changes, sentence } of ask(change.asked, about, told, change.becomes).misses) {
      const [only, ...others] = changes
      if (only?.kind !== 'result' || others.length > 0 || !states.includes(only.name)) continue
      met += 1
      const outcomes = nearestSets(naming(only, states), after.split('+')).map((sets) =>
        sets.flatMap((set) => outcomeOf(() => ask(change.asked, about, told, `${before}>${set.join('+')}`))),
      )
      expect(
        outcomes.find((some) => some.length > 0),
        sentence,
      ).to.include('allow')
    }
  })
}

interface Change {
  readonly asked: Asked
  readonly stored: Plain
  readonly proposed: Plain
  readonly becomes: string
}

/** A PATCH that gives a field the value of another object; undefined if the same relations look at it as before. */
function changeOf({ world }: Asked, pick: number): Change | undefined {
  const [stored, ...others] = world.objects?.get(world.resource.name) ?? []
  const isOpen = (field: string) => !world.resource.readOnly.includes(field) && statesOf(world, field).length > 0
  const values = others.flatMap((one) => Object.entries(one)).filter(([field]) => isOpen(field))
  const [field, value] = values[pick % values.length] ?? []
  if (!stored || field === undefined || value === undefined || isNested(value)) return undefined
  const asked = {
    world,
    viewName: undefined,
    request: { action: 'update', id: String(stored.id), body: { [field]: value } },
  }
  const proposed = updated(world, stored, { [field]: value })
  const [before, after] = [stored, proposed].map((one) => {
    return statesOf(world, field).filter((name) => relationsOf(world, one).has(name))
  })
  const becomes = [before, after].map((side = []) => side.join('+') || 'none')
  return becomes[0] === becomes[1] ? undefined : { asked, stored, proposed, becomes: becomes.join('>') }
}

/** The state with as many as possible of the others, then with fewer: a miss changes nothing that can stay. */
function nearestSets(name: string, states: readonly string[]): readonly (readonly (readonly string[])[])[] {
  const others = states.filter((one) => one !== name && one !== 'none')
  const sets = subsets(others).map((set) => [name, ...set])
  return [...Map.groupBy(sets, ({ length }) => length)].toSorted(([a], [b]) => b - a).map(([, some]) => some)
}

/** None if the states don't hold together. */
function outcomeOf(explained: () => Explanation): readonly string[] {
  try {
    return [explained().outcome]
  } catch (error) {
    if (error instanceof ToolError) return []
    throw error
  }
}

/** With one more rule: it lets everybody bring about one of the states. */
function withGate({ world, ...asked }: Asked, pick: number): Asked {
  const names = [...(world.policy.relations.get(world.resource.name)?.keys() ?? [])]
  const after = names.slice(pick % names.length).slice(0, 1)
  const gate = { subject: 'everyone', resource: world.resource.name, actions: ['update'], relations: [], after }
  const rules = [...world.policy.rules, { ...gate, views: ['*'], effect: 'allow' as const }]
  const policy = { ...world.policy, rules }
  // Too many relations may be named then.
  const isSound = faultsOf({ policy, resources: ORACLE_RESOURCES }).length === 0
  return { ...asked, world: isSound ? { ...world, policy } : world }
}

/** A merge patch reads such a field. */
function isNested(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The relations without parts that look at the field. */
function statesOf(world: World, field: string): readonly string[] {
  const declared = [...(world.policy.relations.get(world.resource.name) ?? [])]
  return declared.flatMap(([name, form]) => {
    return ('field' in form && form.field === field) || ('through' in form && form.through === field) ? [name] : []
  })
}

interface ConditionChange {
  readonly kind: 'condition' | 'not-condition'
  readonly name: string
}

/** By the rules on this very object, with other conditions. */
function isAllowedWith({ world, request }: Asked, object: Plain, changes: readonly ConditionChange[]): boolean {
  const on = changes.filter(({ kind }) => kind === 'condition').map(({ name }) => name)
  const off = changes.filter(({ kind }) => kind === 'not-condition').map(({ name }) => name)
  const holding = holdingConditions(world).union(new Set(on)).difference(new Set(off))
  const without = { ...world, policy: { ...world.policy, conditions: new Map() } }
  const names = new Map([...(world.policy.conditions?.keys() ?? [])].map((name) => [name, NEVER]))
  const asked = { ...without, policy: { ...without.policy, conditions: names }, assumed: holding }
  const { action, operation = action } = request
  const fields = granted(asked, action, relationsOf(asked, object))
  return (operation === 'read' ? inView(fields, request.view) : fields).size > 0
}

/** That the credential is an API key is told by a condition that asks for one. */
function isTold({ world: { caller, policy } }: Asked): boolean {
  return caller.credential !== 'api-key' || (policy.conditions?.has('machine') ?? false)
}

const NEVER = { signedIn: { acr: ['never'] } }

function conditionsOf({ world }: Asked): readonly (readonly [string, boolean])[] {
  const holding = holdingConditions(world)
  return [...(world.policy.conditions?.keys() ?? [])].map((name) => [name, holding.has(name)])
}

function storedObject({ world, request: { id, action, operation = action } }: Asked): Plain | undefined {
  if (operation === 'create' || world.resource.builtIn || operation === 'options') return undefined
  return world.objects?.get(world.resource.name)?.find((one) => one.id === id)
}

type Told = Pick<Explanation, 'outcome' | 'answer'> & Partial<Pick<ExplainedCase, 'listed' | 'fields'>>

function expectAnswer(asked: Asked, object: Plain, told: Told): void {
  const { world, request } = asked
  const { action, operation = action } = request
  if (operation === 'list') {
    expectListed(asked, object, told)
    return
  }
  const isChange = operation === 'replace' || operation === 'update'
  // Of a change, explain tells the decision on the stored object.
  const asWrite = isChange ? { ...request, operation: 'delete', view: undefined } : request
  const expected = answer(world, asWrite as typeof request)
  if (isChange && expected.status === 204) {
    expect(told.outcome).to.equal('allow')
    const writable = [...onObject(world, action, object)].filter((field) => !world.resource.readOnly.includes(field))
    expect(told.fields?.writable?.toSorted()).to.deep.equal(writable.toSorted())
    return
  }
  expect(told.answer?.status).to.equal(expected.status)
  expectStepUp(asked, expected, told)
  if (operation === 'read' && expected.status === 200) {
    expect(told.fields?.shown.filter((field) => Object.hasOwn(object, field)).toSorted()).to.deep.equal(expected.shows)
  }
}

function expectListed({ world, request }: Asked, object: Plain, { answer: told, listed, fields }: Told): void {
  const expected = answer(world, request)
  expect(told?.status).to.equal(expected.status)
  if (expected.status !== 200) return
  expect(listed ?? false).to.equal(expected.ids?.includes(String(object.id)))
  if (listed) expect(fields?.queryable?.toSorted()).to.deep.equal(expected.queryable)
}

function expectStepUp({ world }: Asked, { stepUp }: Answer, { answer: told }: Told): void {
  expect(told?.code === 'step-up-required').to.equal(stepUp !== undefined)
  for (const name of stepUp ?? []) {
    const condition = world.policy.conditions?.get(name)
    if (condition && 'signedIn' in condition && condition.signedIn.within !== undefined)
      expect(told?.headers['WWW-Authenticate']).to.include('max_age=')
  }
}

function largestWithin(cases: readonly ExplainedCase[], set: ReadonlySet<string>): readonly ExplainedCase[] {
  const namesOf = ({ relations, conditions }: ExplainedCase) => new Set([...relations, ...conditions])
  const within = cases.filter((one) => namesOf(one).isSubsetOf(set))
  return within.filter((one) => !within.some((other) => other !== one && namesOf(one).isSubsetOf(namesOf(other))))
}

function aboutObject({ world }: Asked, object: Plain): KnownObject {
  const related = (resource: string, by: string, values: readonly unknown[]) =>
    (world.objects?.get(resource) ?? []).filter((one) => {
      const value = one[by]
      return values.some((wanted) => (Array.isArray(value) ? value.includes(wanted as string) : value === wanted))
    })
  return { kind: 'object', id: String(object.id), object, record: recordOf(world.caller), related }
}
