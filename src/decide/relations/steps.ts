/** What relations that rest on other objects have in common: the target, the length of the chain, and the reasons. */
import { oneOf } from '../../base/did-you-mean.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Field, Representation, Resource } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { fieldValues } from '../conditions/condition.ts'
import {
  comparedField,
  type Declaration,
  fieldText,
  isFieldKnown,
  type KindOf,
  type KnownFacts,
  type Relation,
  type RelationReason,
  type RelationStep,
  WITHOUT_CREDENTIALS,
} from './relation-kind.ts'

/** A chain takes at most this many steps, and at most one of them is a climb. */
const MOST_STEPS = 4

/** The resource of the other objects; undefined, and reported, if it isn't one whose objects are stored. */
export function targetOf(name: string, at: string, { resources, fault }: Declaration): Resource | undefined {
  const data = storedResources(resources)
  if (resources.byName.get(name)?.external) {
    const message = `the objects of \`${name}\` are kept elsewhere, so they can't be looked up`
    fault([at], 'target-external', message, 'compare a field of the resource itself')
    return undefined
  }
  const found = data.find((resource) => resource.name === name)
  if (found) return found
  fault(
    [at],
    'unknown-resource',
    `no schema declares the resource \`${name}\``,
    oneOf(
      name,
      data.map((one) => one.name),
    ),
  )
  return undefined
}

/** A field that holds the ids of other objects; undefined, and reported, if its values can't be ids. */
export function idField(name: string, at: string, declaration: Declaration): Field | undefined {
  const { fault } = declaration
  const field = comparedField(name, { ...declaration, fault: (_path, ...rest) => fault([at], ...rest) })
  if (!field || field.type === 'string') return field
  fault(
    [at],
    'id-field',
    `the field \`${name}\` can't hold an id`,
    'its schema type must be string, or a list of strings',
  )
  return undefined
}

/** Reports a chain that is too long. */
export function isShortEnough(step: RelationStep, kindOf: KindOf, { fault }: Declaration): boolean {
  const { steps, climbs } = chainOf(step, kindOf)
  if (steps > MOST_STEPS) {
    const message = `the chain takes ${steps} steps from object to object; at most ${MOST_STEPS} are possible`
    fault([], 'relation-chain', message, 'let the schema name the farther object directly')
    return false
  }
  if (climbs <= 1) return true
  fault([], 'relation-chain', 'the chain climbs twice', 'keep one relation with `depth` in a chain')
  return false
}

function chainOf(step: RelationStep, kindOf: KindOf): { readonly steps: number; readonly climbs: number } {
  const further = longest(step.relation, kindOf)
  return { steps: 1 + further.steps, climbs: (step.depth === undefined ? 0 : 1) + further.climbs }
}

function longest(relation: Relation, kindOf: KindOf): { readonly steps: number; readonly climbs: number } {
  const { step, parts } = kindOf(relation)
  if (step) return chainOf(step(relation), kindOf)
  const chains = (parts?.(relation).of ?? []).map((part) => longest(part, kindOf))
  return {
    steps: Math.max(0, ...chains.map(({ steps }) => steps)),
    climbs: Math.max(0, ...chains.map(({ climbs }) => climbs)),
  }
}

/** Whether some other object has the relation, and the objects on the way. */
export function explainStep(field: string, step: RelationStep, known: KnownFacts, kindOf: KindOf): RelationReason {
  const { resource, by, relation } = step
  const wanted = `${relation.name} of ${resource}`
  if (!known.hasCredentials && !kindOf(relation).couldHold(relation, () => false)) return WITHOUT_CREDENTIALS
  if (!isFieldKnown(known.object, field))
    return { holds: null, why: `it holds if the object that ${field} names is ${wanted}` }
  const values = fieldValues(known.object.fields, field)
  if (values.length === 0) return { holds: false, why: fieldText(known.object.fields, field) }
  return explainReached(
    { ...step, values, left: step.depth ?? 1, met: new Set() },
    { known, kindOf, field, by, wanted },
  )
}

interface StepReach extends RelationStep {
  readonly values: readonly Scalar[]
  /** The steps that may still be taken, this one included. */
  readonly left: number
  readonly met: ReadonlySet<string>
}

interface StepFacts {
  readonly known: KnownFacts
  readonly kindOf: KindOf
  readonly field: string
  readonly by: string
  readonly wanted: string
}

function explainReached(reach: StepReach, around: StepFacts): RelationReason {
  const { resource, relation, values, left, met } = reach
  const { known, kindOf, field, by, wanted } = around
  const objects = known.related(resource, by, values)
  if (!objects)
    return { holds: null, why: `it holds if an object of ${resource} with ${by} ${values.join(' or ')} is ${wanted}` }
  const name = (object: Representation) => `${resource}/${String(object.id)}`
  const reasons = objects.map((object) => {
    const at = { ...known, object: { fields: object, complete: true }, isOwnRecord: false }
    const reason = kindOf(relation).explain(relation, at)
    return { ...reason, why: `${name(object)}: ${reason.why}`, via: [name(object), ...(reason.via ?? [])] }
  })
  const found = reasons.find(({ holds }) => holds === true)
  if (found) return found
  if (left > 1) {
    const further = objects.filter((object) => !met.has(name(object)))
    for (const object of further) {
      const next = fieldValues(object, field)
      if (next.length === 0) continue
      const seen = met.union(new Set(further.map(name)))
      const reason = explainReached({ ...reach, values: next, left: left - 1, met: seen }, around)
      if (reason.holds !== false) return { ...reason, via: [name(object), ...(reason.via ?? [])] }
    }
  }
  return reasons.find(({ holds }) => holds === null) ?? { holds: false, why: whyNone(reach, by, reasons) }
}

function whyNone({ resource, values }: StepReach, by: string, reasons: readonly RelationReason[]): string {
  const [first] = reasons
  if (!first) return `no object of ${resource} has the ${by} ${values.slice(0, 3).join(' or ')}`
  return reasons.length === 1 ? first.why : `none of ${reasons.length} objects of ${resource} has it (${first.why})`
}
