/**
 * A change that needs approvals can't be smuggled as one that needs fewer: whatever is decided otherwise afterwards, by
 * the oracle and at some moment, the change asks those who approve such changes, and those of the resource.
 */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { ChangedPolicy } from '../../src/analysis/approvals/changed-policy.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { parseBlocked } from '../../src/policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { IDS, ROLES } from '../policy/arbitrary.ts'
import { ENDS } from '../policy/arbitrary-policy.ts'
import { RESOURCES } from '../policy/fixture.ts'
import { LANGUAGE_RESOURCES } from '../policy/language-fixture.ts'
import { subsets } from '../policy/oracle/plain.ts'
import { render } from '../policy/render.ts'
import type { OracleCaller, OraclePolicy, OracleRule } from '../policy/world.ts'
import { COMPARED, ROLES as LANGUAGE_ROLES, languagePair } from '../review/diff/language-pairs.ts'
import * as language from '../review/diff/language-space.ts'
import { type PolicyPair, randomPair, redefinedPair } from '../review/diff/policy-pairs.ts'
import { effectsAt } from '../review/diff/promises.ts'
import { CLAIMS, type Point, pointsOf, type Question } from '../review/diff/whole-space.ts'
import { runs } from '../runs.ts'
import { askedBy, askingFor } from './asking.ts'

type ApprovalEffect = ReturnType<typeof effectsAt>[number]

/** Whom the change of a policy asks. */
type Asking = (before: ChangedPolicy, after: ChangedPolicy, resources: Resources) => readonly string[]

const NO_BLOCKS = { name: 'blocked.txt', text: '' }

function changed(files: PolicyFiles, resources: Resources, blockedFile = NO_BLOCKS): ChangedPolicy {
  return { policy: parsePolicy(files, resources), blocked: parseBlocked(blockedFile), files, blockedFile }
}

function written(policy: OraclePolicy, more: Readonly<Record<string, string>>): PolicyFiles {
  const added = Object.entries(more).map(([name, text]) => [name, { name, text }])
  return { ...render(policy, { lineEnd: '\n', padding: ' ', comments: false }), ...Object.fromEntries(added) }
}

/** What is decided otherwise, by resource. */
type Differences = ReadonlyMap<string, ReadonlySet<ApprovalEffect>>

function expectAsked(differences: Differences, asked: readonly string[]): void {
  for (const [resource, effects] of differences) {
    const wanted = [...effects].map((effect) => (effect === 'gains' ? 'widens' : 'narrows'))
    expect(asked, `${resource} ${[...effects]}`).to.include.members([...wanted, resource.replaceAll(/[^a-z]/g, '-')])
  }
}

function differencesIn(
  found: readonly (readonly [resource: string, point: Pick<Point, 'before' | 'after'>])[],
): Differences {
  const effects = found.flatMap(([resource, point]) => effectsAt(point).map((effect) => [resource, effect] as const))
  const groups = Map.groupBy(effects, ([resource]) => resource)
  return new Map([...groups].map(([resource, some]) => [resource, new Set(some.map(([, effect]) => effect))]))
}

// ---- Rules, and the moments at which they end -----------------------------------------------------------------------

/** The rules end as their texts say, together with a number: the same rule of both sides mostly at the same moment. */
function withEnds({ before, after }: PolicyPair, [one, other]: readonly [number, number]): PolicyPair {
  const all = [undefined, undefined, ...ENDS]
  const endOf = (rule: OracleRule, salt: number) => all[([...JSON.stringify(rule)].length * 7 + salt) % all.length]
  const ending = (policy: OraclePolicy, salt: number): OraclePolicy => ({
    ...policy,
    rules: policy.rules.map(({ until: _, ...rule }) => {
      const until = endOf(rule, salt)
      return until === undefined ? rule : { ...rule, until }
    }),
  })
  return { before: ending(before, one), after: ending(after, other) }
}

/** Before and after each end. */
const MOMENTS = [Date.UTC(2026, 0) - 1, ...ENDS]

const moments = fc.subarray(MOMENTS, { minLength: 1, maxLength: 2 })

function livingAt({ before, after }: PolicyPair, moment: number): PolicyPair {
  const living = (policy: OraclePolicy): OraclePolicy => ({
    ...policy,
    rules: policy.rules.flatMap(({ until, ...rule }) => (until === undefined || until > moment ? [rule] : [])),
  })
  return { before: living(before), after: living(after) }
}

const salts = fc.tuple(fc.nat(6), fc.nat(6)).map(([one, other]) => [one, one === 0 ? other : one] as const)

/** A resource of its own that nobody asks about can't hide the others. */
const DOCS_ASKED = askingFor(['docs', 'jobs', 'system/health'])
const TASKS_ASKED = askingFor(['tasks', 'system/health'])

const callersOf = (roles: readonly string[]) =>
  fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ id: fc.constantFrom('nobody', ...IDS), roles: fc.subarray([...roles, 'ghost']) }),
      },
      { weight: 1, arbitrary: fc.constant({ roles: [] as string[] }) },
    ),
    { minLength: 1, maxLength: 3 },
  )

function callerOf({ id, roles }: { readonly id?: string; readonly roles: readonly string[] }): OracleCaller {
  return id === undefined ? { roles: [], claims: {} } : { id, roles, claims: CLAIMS }
}

function questionsOf(
  caller: OracleCaller,
  { byName }: Resources,
  isMeant: (action: string) => boolean = () => true,
): readonly Question[] {
  return [...byName.values()].flatMap((resource) =>
    [...resource.actions.keys()].filter(isMeant).map((action) => ({ resource, action, caller })),
  )
}

const onDocs = (asking: Asking) =>
  fc.property(fc.oneof(randomPair, redefinedPair), salts, moments, callersOf(ROLES), (pair, ends, some, callers) => {
    const ending = withEnds(pair, ends)
    const [before, after] = [ending.before, ending.after].map((policy) =>
      changed(written(policy, { 'approvals.yaml': DOCS_ASKED }), RESOURCES),
    ) as [ChangedPolicy, ChangedPolicy]
    const points = some.flatMap((moment) => {
      const living = livingAt(ending, moment)
      return callers.flatMap((one) =>
        questionsOf(callerOf(one), RESOURCES).flatMap((question) =>
          pointsOf(living, question).map((point) => [question.resource.name, point] as const),
        ),
      )
    })
    expectAsked(differencesIn(points), asking(before, after, RESOURCES))
  })

const onTasks = (asking: Asking) =>
  fc.property(
    languagePair,
    salts,
    fc.constantFrom(...MOMENTS),
    callersOf(LANGUAGE_ROLES),
    (pair, ends, moment, callers) => {
      const ending = withEnds(pair, ends)
      const [before, after] = [ending.before, ending.after].map((policy) =>
        changed(written(policy, { 'approvals.yaml': TASKS_ASKED }), LANGUAGE_RESOURCES),
      ) as [ChangedPolicy, ChangedPolicy]
      const living = livingAt(ending, moment)
      const points = callers.flatMap(({ id, roles }: { id?: string; roles: readonly string[] }) =>
        questionsOf(language.callerOf(id, roles), COMPARED).flatMap((question) =>
          [...language.pointsOf(living, question), ...language.objectPointsOf(living, question)].map(
            (point) => [question.resource.name, point] as const,
          ),
        ),
      )
      expectAsked(differencesIn(points), asking(before, after, COMPARED))
    },
  )

// ---- Roles that are kept apart: links change who has none of them ---------------------------------------------------

const linksAlone = fc
  .tuple(randomPair, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }))
  .map(([{ before }, kept]) => ({
    before,
    after: { ...before, links: before.links.filter((_, i) => kept[i % kept.length]) },
  }))

const keptApart = (asking: Asking) =>
  fc.property(
    linksAlone,
    fc.subarray([...ROLES], { minLength: 2, maxLength: 3 }),
    fc.boolean(),
    (pair, names, back) => {
      const { before, after } = back ? { before: pair.after, after: pair.before } : pair
      const apart = names.filter((name) => before.roles.includes(name))
      fc.pre(apart.length > 1)
      const kept = { before: { ...before, apart: [apart] }, after: { ...after, apart: [apart] } }
      const [old, now] = [kept.before, kept.after].map((policy) =>
        soundOf(written(policy, { 'approvals.yaml': DOCS_ASKED })),
      )
      fc.pre(old !== undefined && now !== undefined)
      const held = subsets(before.roles).filter(({ size }) => size > 1 && size < 4)
      const isMeant = (action: string) => action === 'read' || action === 'delete'
      const points = held.flatMap((roles) =>
        questionsOf(callerOf({ id: 'nobody', roles: [...roles] }), RESOURCES, isMeant).flatMap((question) =>
          pointsOf(kept, question).map((point) => [question.resource.name, point] as const),
        ),
      )
      if (old && now) expectAsked(differencesIn(points), asking(old, now, RESOURCES))
    },
  )

/** Undefined where a role inherits two that are kept apart. */
function soundOf(files: PolicyFiles): ChangedPolicy | undefined {
  try {
    return changed(files, RESOURCES)
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

// ---- Users who are blocked ------------------------------------------------------------------------------------------

const randomBlocks = fc.dictionary(fc.constantFrom('u1', 'u2', 'ada'), fc.constantFrom(null, ...ENDS), { maxKeys: 3 })

const onBlocks = (asking: Asking) =>
  fc.property(randomBlocks, randomBlocks, (before, after) => {
    const files = written(
      { roles: [], links: [], rules: [], relations: new Map(), views: new Map() },
      { 'approvals.yaml': DOCS_ASKED },
    )
    const side = (blocks: typeof before) => {
      const lines = Object.entries(blocks).map(([id, end]) =>
        end === null ? `user:${id}` : `user:${id} until=${new Date(end).toISOString()}`,
      )
      return changed(files, RESOURCES, { name: 'blocked.txt', text: `${lines.join('\n')}\n` })
    }
    const isBlocked = (blocks: typeof before, id: string, moment: number) =>
      id in blocks && (blocks[id] ?? Infinity) > moment
    const asked = asking(side(before), side(after), RESOURCES)
    for (const moment of MOMENTS) {
      for (const id of ['u1', 'u2', 'ada']) {
        const [old, now] = [before, after].map((blocks) => isBlocked(blocks, id, moment))
        if (old && !now) expect(asked, `${id} is free`).to.include('widens')
        if (now && !old) expect(asked, `${id} is blocked`).to.include('blocks')
      }
    }
  })

const ANY_RULES = 'of whatever rules, views, links and relations, at any moment'
const LANGUAGE = 'of rules with walls, transitions and conditions, at any moment'
const APART = 'of roles that are kept apart, by links alone'
const BLOCKS = 'of users who are blocked'

const PROMISES: Readonly<Record<string, readonly [(asking: Asking) => fc.IRawProperty<unknown>, inSoak: number]>> = {
  [ANY_RULES]: [onDocs as never, 600],
  [LANGUAGE]: [onTasks as never, 300],
  [APART]: [keptApart as never, 600],
  [BLOCKS]: [onBlocks as never, 600],
}

/** What it would be to overlook something, and who finds it. */
const WRONG: Readonly<Record<string, readonly [promise: keyof typeof PROMISES, asking: Asking]>> = {
  'takes what widens for nothing': [ANY_RULES, without('widens')],
  'takes what narrows for nothing': [ANY_RULES, without('narrows')],
  'takes what widens for what narrows': [
    ANY_RULES,
    (...sides) => [...without('widens')(...sides), ...(askedBy(...sides).includes('widens') ? ['narrows'] : [])],
  ],
  'takes one resource for another': [
    ANY_RULES,
    (...sides) => askedBy(...sides).map((name) => (name === 'jobs' ? 'docs' : name)),
  ],
  'looks at the present alone': [
    ANY_RULES,
    (before, after, resources) => askedBy(later(before), later(after), resources),
  ],
  'forgets rules with walls and transitions': [
    LANGUAGE,
    (before, after, resources) => askedBy(withoutTransitions(before), withoutTransitions(after), resources),
  ],
  'forgets who has none of the roles that are kept apart': [
    APART,
    (before, after, resources) => askedBy(withoutApart(before), withoutApart(after), resources),
  ],
  'takes the end of a block for nothing': [
    BLOCKS,
    (before, after, resources) => askedBy(withoutEnds(before), withoutEnds(after), resources),
  ],
}

function without(group: string): Asking {
  return (...sides) => askedBy(...sides).filter((name) => name !== group)
}

function withRules(
  side: ChangedPolicy,
  edit: (rules: ChangedPolicy['policy']['rules']) => ChangedPolicy['policy']['rules'],
) {
  return { ...side, policy: { ...side.policy, rules: edit(side.policy.rules) } }
}

function later(side: ChangedPolicy): ChangedPolicy {
  return withRules(side, (rules) => rules.filter(({ until }) => until === undefined || until > Date.UTC(2026, 6)))
}

function withoutTransitions(side: ChangedPolicy): ChangedPolicy {
  return withRules(side, (rules) => rules.filter(({ after }) => after === undefined))
}

function withoutApart(side: ChangedPolicy): ChangedPolicy {
  return { ...side, policy: { ...side.policy, roleGuarantees: [] } }
}

function withoutEnds(side: ChangedPolicy): ChangedPolicy {
  return { ...side, blocked: new Map([...side.blocked].map(([id, block]) => [id, { ...block, until: undefined }])) }
}

describe('a change asks those who approve what is decided otherwise,', () => {
  for (const [what, [property, inSoak]] of Object.entries(PROMISES)) {
    it(what, () => fc.assert(property(askedBy) as fc.IProperty<unknown>, { numRuns: runs(inSoak) }))
  }

  for (const [fault, [promise, asking]] of Object.entries(WRONG)) {
    it(`or would be found out: it ${fault}`, async () => {
      const property = PROMISES[promise]?.[0](asking) as fc.IProperty<unknown>
      const outcome = await fc.check(property, { numRuns: 2000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
