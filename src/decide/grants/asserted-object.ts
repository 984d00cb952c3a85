/**
 * The decision about an object that isn't stored here: a PEP asserts its attributes, and those that it doesn't
 * assert are unknown. What is granted is granted whatever values the unknown ones have: each relation that looks at one is
 * taken once as holding and once as not (docs/decisions/0066).
 */
import type { Representation } from '../../resources/resource.ts'
import { passRoleLevel, type Question } from '../decide.ts'
import { type Evidence, evidenceOf } from '../evidence.ts'
import type { FactNeed, Steps } from '../facts.ts'
import { type Refusal, refusalBy } from '../refusal.ts'
import { comparedFields, followsFrom, kindOf, leavesOf } from '../relations/all-kinds.ts'
import { relate } from '../relations/ownership.ts'
import type { Relation } from '../relations/relation-kind.ts'
import type { Snapshot } from '../snapshot.ts'
import {
  attributesOf,
  type CallerGrants,
  factsOf,
  grantOn,
  grantOnResult,
  inView,
  relatingBy,
} from './caller-grants.ts'

/** With more unknown relations, nothing is granted: each doubles the cases. */
const MOST_UNKNOWN = 6

export interface AssertedObject {
  /** The asserted attributes, and the id. */
  readonly attributes: Representation
  /** Whether the caller's attributes are asserted too, so that a missing one is unknown. */
  readonly isCallerAsserted: boolean
}

export interface PartialDecision {
  readonly kind: 'partial'
  /** Granted whatever the unknown values are. */
  readonly fields: ReadonlySet<string>
  /** Granted for some values. */
  readonly possible: ReadonlySet<string>
  readonly evidence: Evidence
}

export function* decideWithUnknowns(
  question: Question,
  policy: Snapshot,
  asserted: AssertedObject,
): Steps<PartialDecision | Refusal> {
  const grants = yield* passRoleLevel(question, policy)
  if (grants.kind === 'refused') return grants
  if (grants.kind !== 'grants') throw new Error(`${question.resource.name} has no objects to decide about`)
  return yield* decideCases(grants, question, asserted)
}

/**
 * Whether the rules compare an attribute that this caller lacks, or look at a field that it would fill. A service
 * may omit an attribute of a caller, so a decision about a stored or a new object is only sure where no attribute is
 * lacking. A change also depends on the fields that the caller may read. `given`: the fields that a new object gets from
 * the question.
 */
export function* lacksAttributes(
  question: Question,
  policy: Snapshot,
  { isChange, given }: { readonly isChange: boolean; readonly given: ReadonlySet<string> },
): Steps<boolean> {
  const grants = yield* passRoleLevel(question, policy)
  if (grants.kind !== 'grants') return false
  const { table, attributes, asking, filled } = grants
  const looked = new Set(table.compared.flatMap(comparedFields))
  const filling = filled.filter(({ field: { name } }) => looked.has(name) && !given.has(name))
  const compared = isChange ? attributes : [...table.attributes, ...attributesOf(filling)]
  return compared.some((name) => asking.valuesOf(name).length === 0)
}

function* decideCases(
  grants: CallerGrants,
  { endpoint }: Question,
  asserted: AssertedObject,
): Steps<PartialDecision | Refusal, FactNeed> {
  const related = yield* relate(relatingBy(grants), asserted.attributes)
  const leaves = [...new Set(grants.table.compared.flatMap(leavesOf))]
  const unknown = leaves.filter((leaf) => isUnknown(leaf, grants, asserted))
  const cases = casesOf(unknown).map((assumed) => {
    const holds = (leaf: Relation) => (unknown.includes(leaf) ? assumed.has(leaf) : (related.leaves.get(leaf) ?? false))
    return namesOf(grants, holds)
  })
  const granted = cases.map((names) => fieldsIn(grants, names, endpoint.operation))
  const fields = granted.reduce((some, more) => some.intersection(more))
  const possible = granted.reduce((some, more) => some.union(more))
  const [names = []] = cases
  const facts = { ...factsOf(grants, related), object: recordedOf(grants, asserted) }
  const evidence = evidenceOf(names, grantOn(grants, names), facts)
  const known = unknown.length > MOST_UNKNOWN ? new Set<string>() : fields
  return possible.size === 0
    ? refusalBy('object', { evidence })
    : { kind: 'partial', fields: known, possible, evidence }
}

/** Whether a value of the missing attributes could make it hold. */
function isUnknown(
  leaf: Relation,
  { asking }: CallerGrants,
  { attributes, isCallerAsserted }: AssertedObject,
): boolean {
  const kind = kindOf(leaf)
  const lacks = (attribute: string) => asking.valuesOf(attribute).length === 0
  if (!kind.couldHold(leaf, (attribute) => !lacks(attribute) || (isCallerAsserted && attribute !== 'id'))) return false
  const isCallerUnknown = isCallerAsserted && kind.attributes(leaf).some((name) => name !== 'id' && lacks(name))
  return isCallerUnknown || kind.fields(leaf).some((field) => !Object.hasOwn(attributes, field))
}

/** Every set of these relations; of too many, the first ones only, which then grant nothing. */
function casesOf(unknown: readonly Relation[]): readonly ReadonlySet<Relation>[] {
  return unknown
    .slice(0, MOST_UNKNOWN)
    .reduce<readonly ReadonlySet<Relation>[]>(
      (some, leaf) => some.concat(some.map((set) => set.union(new Set([leaf])))),
      [new Set()],
    )
}

function namesOf({ table }: CallerGrants, holds: (leaf: Relation) => boolean): readonly string[] {
  return table.compared.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name)
}

/** The asserted fields that records keep. */
function recordedOf({ table }: CallerGrants, { attributes }: AssertedObject): Representation {
  return Object.fromEntries(
    table.recorded.filter((name) => Object.hasOwn(attributes, name)).map((name) => [name, attributes[name] ?? null]),
  )
}

/** A change is weighed as if all values stayed. A read shows the view of its route. */
function fieldsIn(
  grants: CallerGrants,
  names: readonly string[],
  operation: Question['endpoint']['operation'],
): ReadonlySet<string> {
  const { fields } = grantOn(grants, names)
  if (operation === 'read') return inView(grants, fields)
  if (operation !== 'update' && operation !== 'replace') return fields
  return fields.intersection(grantOnResult(grants, { stored: names, mixed: names, proposed: names }).fields)
}
