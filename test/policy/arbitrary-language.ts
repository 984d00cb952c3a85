/**
 * Random worlds of the second edition, over the resources of language-fixture.ts: policies with relations of all kinds, `!`,
 * `>` and conditions; stored objects with dangling ids, nulls, lists and deleted parents; callers and requests. Values are
 * few, so that they often meet. No policy has a fault.
 */
import fc from 'fast-check'
import type { Resource } from '../../src/resources/resource.ts'
import { randomObjects, TIMES, USER_IDS, valueFor } from './arbitrary-objects.ts'
import { CONDITIONS, randomRelations, VIEWS } from './arbitrary-relations.ts'
import { HEALTH } from './fixture.ts'
import { ORACLE_RESOURCES, STORED, TASKS } from './language-fixture.ts'
import type { OracleRequest } from './oracle/answer.ts'
import { faultsOf } from './oracle/faults.ts'
import type { Json, OracleCaller, OracleCondition, OraclePolicy, OracleRule, Plain, World } from './world.ts'

/** A request of one caller in one world. */
export interface Asked {
  readonly world: World
  readonly request: OracleRequest
  /** The name of the route's view. */
  readonly viewName: string | undefined
}

const NOW = Date.parse('2026-11-20T10:00:00Z')

const ROLES = ['a', 'b', 'c']

// ---- Policies -------------------------------------------------------------------------------------------------------

const randomConditions: fc.Arbitrary<ReadonlyMap<string, OracleCondition>> = fc
  .subarray(Object.entries(CONDITIONS))
  .map((entries) => new Map(entries))

const randomLinks = fc.subarray([
  { role: 'a', inherits: 'b' },
  { role: 'a', inherits: 'c' },
  { role: 'b', inherits: 'c' },
])

/** Mostly about one resource, and generous, so that requests get far. */
export function languagePolicy(focus: Resource): fc.Arbitrary<OraclePolicy> {
  return fc
    .record({
      links: randomLinks,
      relations: randomRelations,
      conditions: randomConditions,
      conceal: fc.subarray(['tasks', 'folders']).map((names) => new Set(names)),
    })
    .chain((named) => {
      const base = { roles: ROLES, views: VIEWS, rules: [], ...named }
      return fc.array(randomRule(base, focus), { minLength: 2, maxLength: 8 }).map((rules) => withRules(base, rules))
    })
}

/** Leaves out the rules that would be faults. */
export function withRules(policy: OraclePolicy, rules: readonly OracleRule[]): OraclePolicy {
  const sound: OracleRule[] = []
  for (const rule of rules) {
    const faults = faultsOf({ policy: { ...policy, rules: [...sound, rule] }, resources: ORACLE_RESOURCES })
    if (faults.length === 0) sound.push(rule)
  }
  return { ...policy, rules: sound }
}

function randomRule(policy: OraclePolicy, focus: Resource): fc.Arbitrary<OracleRule> {
  const on = (pattern: string, ...covered: readonly Resource[]) => ruleOn(policy, pattern, covered)
  const focused = on(focus.name, focus)
  return fc.oneof(
    { weight: 4, arbitrary: focused },
    { weight: 4, arbitrary: focused.map((rule) => generous(rule)) },
    ...STORED.map((one) => ({ weight: 1, arbitrary: on(one.name, one) })),
    { weight: 2, arbitrary: on('*', ...STORED) },
  )
}

function generous(rule: OracleRule): OracleRule {
  return { ...rule, subject: 'everyone', effect: 'allow', relations: rule.relations.slice(0, 1), views: ['*'] }
}

function ruleOn(policy: OraclePolicy, resource: string, covered: readonly Resource[]): fc.Arbitrary<OracleRule> {
  const relations = namesOf(covered.map(({ name }) => policy.relations.get(name)))
  const conditions = [...(policy.conditions?.keys() ?? [])]
  const views = namesOf(covered.map(({ name }) => policy.views.get(name)))
  const actions = namesOf(covered.map((one) => one.actions))
  const isWrite = (action: string) => ['replace', 'update', 'claim'].includes(action)
  const common = {
    subject: fc.constantFrom('everyone', 'everyone', ...ROLES, 'anonymous', 'user:u1'),
    resource: fc.constant(resource),
    relations: terms([...relations, ...conditions], 3),
    views: fc.oneof({ weight: 2, arbitrary: fc.constant(['*']) }, some(views, 2)),
    effect: fc.constantFrom<'allow' | 'deny'>('allow', 'allow', 'allow', 'deny'),
  }
  const plain = fc.record({ ...common, actions: fc.oneof(fc.constant(['*']), some(actions, 3)) })
  const writes = actions.filter(isWrite)
  if (writes.length === 0) return plain
  return fc.oneof(plain, fc.record({ ...common, actions: some(writes, 2), after: terms(relations, 2) }))
}

/** `any`, or some names, each perhaps negated. */
export function terms(names: readonly string[], most: number): fc.Arbitrary<readonly string[]> {
  if (names.length === 0) return fc.constant([])
  const term = fc.tuple(fc.constantFrom(...names), fc.boolean(), fc.boolean())
  return fc
    .uniqueArray(term, { maxLength: most, selector: ([name]) => name })
    .map((chosen) => chosen.map(([name, ...negated]) => (negated.every(Boolean) ? `!${name}` : name)))
}

function some(names: readonly string[], most: number): fc.Arbitrary<readonly string[]> {
  if (names.length === 0) return fc.constant(['*'])
  return fc.subarray([...names], { minLength: 1, maxLength: Math.min(most, names.length) })
}

function namesOf(maps: readonly (ReadonlyMap<string, unknown> | undefined)[]): readonly string[] {
  return [...new Set(maps.flatMap((map) => [...(map?.keys() ?? [])]))]
}

// ---- Callers --------------------------------------------------------------------------------------------------------

export const randomClaims: fc.Arbitrary<Plain> = fc.record(
  {
    tenant: fc.constantFrom<Json>('x', 'y', null, ['x', 'y'], ['x', 'x']),
    teams: fc.constantFrom<Json>('red', ['red'], ['red', 'blue'], [], 7),
  },
  { requiredKeys: [] },
)

const whoever = { id: fc.constantFrom(...USER_IDS), roles: fc.subarray([...ROLES, 'ghost']), claims: randomClaims }

const signedIn = fc.record(
  {
    ...whoever,
    credential: fc.constantFrom('password', 'password', 'provider'),
    authTime: fc.constantFrom(...[-3_600_000, -900_001, -900_000, -1000, 5000, 5001].map((offset) => NOW + offset)),
    acr: fc.constantFrom('urn:example:mfa', 'urn:example:pwd'),
  },
  { requiredKeys: ['id', 'roles', 'claims', 'credential'] },
)

/** An API key doesn't tell when or how somebody signed in. */
const withApiKey = fc.record({ ...whoever, credential: fc.constant('api-key') })

export const randomLanguageCaller: fc.Arbitrary<OracleCaller> = fc.oneof(
  { weight: 5, arbitrary: signedIn },
  { weight: 2, arbitrary: withApiKey },
  { weight: 1, arbitrary: fc.constant({ roles: [], claims: {} }) },
)

// ---- Requests -------------------------------------------------------------------------------------------------------

interface RandomRequest {
  readonly request: OracleRequest
  readonly viewName?: string | undefined
}

function randomRequest(resource: Resource): fc.Arbitrary<RandomRequest> {
  const views = VIEWS.get(resource.name)
  return fc
    .record({
      asked: fc.constantFrom(...requestsTo(resource)),
      body: randomBody(resource),
      viewName: fc.constantFrom(undefined, undefined, undefined, ...(views?.keys() ?? [])),
    })
    .map(({ asked, body, viewName }) => {
      const view = viewName === undefined ? {} : { view: new Set(views?.get(viewName)) }
      return { request: { ...asked, body, ...view }, viewName }
    })
}

function requestsTo({ actions }: Resource): readonly Pick<OracleRequest, 'action' | 'operation'>[] {
  const frequent = ['update', 'update', 'replace', 'create', 'list', 'list', 'read']
  const standard = [...actions.keys()].filter((action) => action !== 'claim').map((action) => ({ action }))
  const own = actions.has('claim') ? [{ action: 'claim', operation: 'update' }] : []
  return [...standard, ...frequent.filter((one) => actions.has(one)).map((action) => ({ action })), ...own]
}

/** A few fields, now and then the id. */
function randomBody({ fields }: Resource): fc.Arbitrary<Plain> {
  const writable = [...fields.values()].filter((one) => !one.readOnly)
  if (writable.length === 0) return fc.constant({})
  return fc
    .tuple(fc.subarray(writable, { maxLength: Math.min(3, writable.length) }), fc.nat(9))
    .chain(([chosen, i]) => {
      const named = i === 0 ? [...chosen, ...[...fields.values()].slice(0, 1)] : chosen
      return fc.record(Object.fromEntries(named.map((one) => [one.name, valueFor(one)])))
    })
}

// ---- Worlds ---------------------------------------------------------------------------------------------------------

/** A world, and a request about one of these resources. A caller's users record is among the objects. */
export function askedAbout(...resources: readonly Resource[]): fc.Arbitrary<Asked> {
  return fc
    .constantFrom(...resources)
    .chain((resource) => fc.record({ resource: fc.constant(resource.name), ...partsOf(resource) }))
    .map(askedOf)
}

export const randomAsked = askedAbout(TASKS, TASKS, TASKS, TASKS, ...STORED, HEALTH)

type Parts = ReturnType<typeof partsOf>
type Drawn = { readonly [P in keyof Parts]: Parts[P] extends fc.Arbitrary<infer T> ? T : never }

function partsOf(resource: Resource) {
  const builtIn: readonly RandomRequest[] = [{ request: { action: 'read' } }, { request: { action: 'options' } }]
  const addresses = ['192.0.2.7', '::ffff:192.0.2.7', '198.51.100.1', '2001:db8::1']
  return {
    policy: languagePolicy(resource),
    caller: randomLanguageCaller,
    objects: randomObjects,
    asked: resource.builtIn ? fc.constantFrom(...builtIn) : randomRequest(resource),
    pick: fc.nat(9),
    now: fc.constantFrom(...TIMES.map((time) => Date.parse(time)), NOW, NOW),
    address: fc.constantFrom(undefined, ...addresses),
  }
}

function askedOf({
  resource: name,
  asked,
  address,
  caller,
  objects,
  policy,
  now,
  pick,
}: Drawn & { resource: string }): Asked {
  const resource = ORACLE_RESOURCES.find((one) => one.name === name)
  if (!resource) throw new Error(`there is no resource ${name}`)
  const record = objects.get('users')?.find(({ id }) => id === caller.id)
  const asking = record ? { ...caller, record } : caller
  // Mostly one that is there.
  const stored = pick === 0 ? [] : (objects.get(name) ?? [])
  const id = String(stored[pick % stored.length]?.id ?? 'missing')
  return {
    viewName: asked.viewName,
    request: { ...asked.request, id },
    world: { policy, resource, caller: asking, objects, now, ...(address && { address }) },
  }
}
