/** What is wrong with a policy: the errors of docs/checks.md, each with its code. */
import { covers } from '../oracle.ts'
import type { OraclePolicy, OracleRelation, OracleResource, OracleRule } from '../world.ts'
import { nameOf } from './terms.ts'

interface Checked {
  readonly policy: OraclePolicy
  readonly resources: readonly OracleResource[]
}

export function faultsOf(checked: Checked): readonly string[] {
  const { policy } = checked
  const relations = [...policy.relations].flatMap(([resource, named]) =>
    [...named.keys()].map((name) => [resource, name]),
  )
  const codes = [
    ...policy.rules.flatMap((rule) => ruleFaults(checked, rule)),
    ...relations.flatMap(([resource = '', name = '']) => relationFaults(policy, resource, name)),
    ...checked.resources.flatMap((resource) => resourceFaults(checked, resource)),
    ...[...(policy.conditions ?? [])].flatMap(([, one]) =>
      'zone' in one && one.from === one.to ? ['hours-empty'] : [],
    ),
  ]
  return [...new Set(codes)]
}

function when(isFault: boolean, code: string): readonly string[] {
  return isFault ? [code] : []
}

// ---- The relation column --------------------------------------------------------------------------------------------

export interface RelationColumn {
  readonly relations: readonly string[]
  readonly after?: readonly string[]
}

/** Undefined (`relation-list`) for what is no list of terms, perhaps with a right side. */
export function parseColumn(text: string): RelationColumn | undefined {
  const [relations, after, ...more] = text.split('>').map(parseSide)
  if (!relations || more.length > 0) return undefined
  if (!text.includes('>')) return { relations }
  return after && { relations, after }
}

function parseSide(text: string): readonly string[] | undefined {
  if (text === 'any') return []
  const terms = text.split('+')
  return terms.every((term) => /^!?\w[\w-]*$/.test(term) && nameOf(term) !== 'any') ? terms : undefined
}

function ruleFaults(checked: Checked, rule: OracleRule): readonly string[] {
  const { policy, resources } = checked
  const { relations, after, actions, effect } = rule
  const covered = resources.filter((resource) => covers(rule.resource, resource))
  const terms = [...relations, ...(after ?? [])]
  const lacking = (term: string) =>
    !policy.conditions?.has(nameOf(term)) && covered.some(({ name }) => !policy.relations.get(name)?.has(nameOf(term)))
  const isWrite = (action: string) =>
    ['replace', 'update'].includes(action) || covered.some(({ ownWrites }) => ownWrites?.includes(action))
  return [
    ...when(isContradiction(relations) || isContradiction(after ?? []), 'term-contradiction'),
    ...when(after !== undefined && !actions.every(isWrite), 'right-side-action'),
    ...when(after?.some((term) => policy.conditions?.has(nameOf(term))) ?? false, 'right-side-condition'),
    ...when(
      terms.some((term) => isUnknown(checked, covered, nameOf(term))),
      'unknown-relation',
    ),
    // A deny of what lacks a relation leaves a gap where a resource lacks it.
    ...when(effect === 'deny' && terms.some((term) => term.startsWith('!') && lacking(term)), 'relation-gap'),
  ]
}

function isContradiction(terms: readonly string[]): boolean {
  return terms.some((term) => terms.includes(`!${term}`))
}

function isUnknown({ policy }: Checked, covered: readonly OracleResource[], name: string): boolean {
  return !policy.conditions?.has(name) && !covered.some((resource) => policy.relations.get(resource.name)?.has(name))
}

// ---- Relations ------------------------------------------------------------------------------------------------------

interface Place {
  readonly resource: string
  readonly name: string
}

function relationFaults(policy: OraclePolicy, resource: string, name: string): readonly string[] {
  if (restsOnItself(policy, [{ resource, name }])) return ['relation-circle']
  const relation = policy.relations.get(resource)?.get(name)
  const steps = longestChain(policy, { resource, name }, () => 1)
  const climbs = longestChain(policy, { resource, name }, (one) => ('depth' in one ? 1 : 0))
  const depth = relation && 'depth' in relation ? (relation.depth ?? 1) : 1
  return [
    ...when(policy.conditions?.has(name) ?? false, 'name-twice'),
    ...when(steps > 4 || climbs > 1, 'relation-chain'),
    ...when(!(Number.isInteger(depth) && depth >= 1 && depth <= 8), 'relation-depth'),
    ...when(
      relation !== undefined && restsOn(resource, relation).some((one) => !isDeclared(policy, one)),
      'unknown-relation',
    ),
  ]
}

function isDeclared(policy: OraclePolicy, { resource, name }: Place): boolean {
  return policy.relations.get(resource)?.has(name) ?? false
}

/** What a relation rests on. */
function restsOn(resource: string, relation: OracleRelation): readonly Place[] {
  if ('all' in relation) return relation.all.map((name) => ({ resource, name }))
  if ('any' in relation) return relation.any.map((name) => ({ resource, name }))
  if ('through' in relation) return [{ resource: relation.to, name: relation.relation }]
  return 'some' in relation ? [{ resource: relation.some, name: relation.relation }] : []
}

function restsOnItself(policy: OraclePolicy, path: readonly Place[]): boolean {
  const last = path.at(-1)
  const relation = last && policy.relations.get(last.resource)?.get(last.name)
  if (!last || !relation) return false
  return restsOn(last.resource, relation).some((next) => {
    const isMet = path.some(({ resource, name }) => resource === next.resource && name === next.name)
    return isMet || restsOnItself(policy, [...path, next])
  })
}

/** The most that the steps of one chain count together. */
function longestChain(
  policy: OraclePolicy,
  { resource, name }: Place,
  count: (step: OracleRelation) => number,
): number {
  const relation = policy.relations.get(resource)?.get(name)
  if (!relation) return 0
  const isStep = 'through' in relation || 'some' in relation
  const next = restsOn(resource, relation).map((one) => longestChain(policy, one, count))
  return (isStep ? count(relation) : 0) + Math.max(0, ...next)
}

// ---- Resources ------------------------------------------------------------------------------------------------------

const MOST_LEAVES = 12

function resourceFaults({ policy }: Checked, resource: OracleResource): readonly string[] {
  const about = policy.rules.filter((rule) => covers(rule.resource, resource))
  const actions = new Set(about.flatMap((rule) => rule.actions))
  const leavesFor = (action: string) => {
    const rules = about.filter((rule) => rule.actions.includes(action) || rule.actions.includes('*'))
    const terms = rules.flatMap(({ relations, after = [] }) => [...relations, ...after])
    return new Set(terms.flatMap((term) => leavesOf(policy, { resource: resource.name, name: nameOf(term) })))
  }
  const filled = [...(policy.relations.get(resource.name) ?? [])].flatMap(([name, one]) =>
    'equals' in one && (name === 'owner' || one.fill) ? [one.field] : [],
  )
  return [
    ...when(
      [...actions].some((action) => leavesFor(action).size > MOST_LEAVES),
      'relation-count',
    ),
    ...when(new Set(filled).size < filled.length, 'fill-twice'),
  ]
}

function leavesOf(policy: OraclePolicy, place: Place, path: readonly string[] = []): readonly string[] {
  const relation = policy.relations.get(place.resource)?.get(place.name)
  if (!relation || path.includes(place.name)) return []
  if (!('all' in relation || 'any' in relation)) return [place.name]
  return restsOn(place.resource, relation).flatMap((one) => leavesOf(policy, one, [...path, place.name]))
}
