/**
 * The object that a field names has a relation: `{ through: projectId, to: projects, relation: member }`. With `depth`
 * it is a climb: an object that is reached by several steps of the field has the relation.
 */

import { say } from '../../present/phrase.ts'
import { count } from '../../present/text.ts'
import type { Condition } from '../conditions/condition.ts'
import type { KindOf, Relation, RelationKind, RelationStep } from './relation-kind.ts'
import { explainStep, idField, isShortEnough, targetOf } from './steps.ts'

interface ThroughRelation extends RelationStep {
  readonly kind: 'through'
  readonly name: string
  readonly field: string
  readonly by: 'id'
}

interface ThroughForm {
  readonly through: string
  readonly to: string
  readonly relation: string
  readonly depth?: number
}

export function throughKind(kindOf: KindOf): RelationKind<ThroughRelation, ThroughForm> {
  const targetText = ({ relation, resource }: ThroughRelation) => `${relation.name} of ${resource}`
  const stepsText = ({ depth }: ThroughRelation) => (depth === undefined ? '' : `, within ${count(depth, 'step')}`)
  return {
    isForm: (form): form is ThroughForm => typeof form === 'object' && form !== null && 'through' in form,
    parse(name, form, declaration) {
      const { through, to, relation: wanted, depth } = form
      const field = idField(through, 'through', declaration)
      const target = targetOf(to, 'to', declaration)
      if (!field || !target) return undefined
      if (depth !== undefined && to !== declaration.resource.name) {
        const message = `a relation with \`depth\` climbs within one resource, and \`${to}\` is another one`
        declaration.fault(
          ['to'],
          'climb-resource',
          message,
          `write \`to: ${declaration.resource.name}\`, or omit depth`,
        )
        return undefined
      }
      const relation = declaration.relationOf(to, wanted, ['relation'])
      if (!relation) return undefined
      const step = { resource: to, by: 'id', relation, ...(depth === undefined ? {} : { depth }) } as const
      if (!isShortEnough(step, kindOf, declaration)) return undefined
      return { kind: 'through', name, field: through, ...step }
    },

    fields: ({ field }) => [field],
    attributes: ({ relation }) => kindOf(relation).attributes(relation),
    step: (relation) => relation,

    onResultOfWrite: 'proposed',
    condition({ field, resource, by, relation, depth }, asking): Condition {
      const where = kindOf(relation).condition(relation, asking)
      if (depth === undefined) return { kind: 'related', field, resource, by, where }
      return { kind: 'climb', field, resource, depth, where }
    },
    couldHold: ({ relation }, has) => kindOf(relation).couldHold(relation, has),

    describe: (relation) =>
      `${relation.field} names an object with the relation ${targetText(relation)}${stepsText(relation)}`,
    define: (one) =>
      say`${one.relation.name} of ${one.resource} through ${one.field}${one.depth === undefined ? [] : say`, within ${count(one.depth, 'step')}`}`,
    explain: (relation, known) => explainStep(relation.field, relation, known, kindOf),

    meaning: ({ field, resource, depth, relation }) =>
      JSON.stringify([field, 'through', resource, depth ?? null, kindOf(relation).meaning(relation)]),
    reach(before, after) {
      if (before.field !== after.field || before.resource !== after.resource) return undefined
      const [old, current] = [before.depth ?? 1, after.depth ?? 1]
      if (kindOf(before.relation).meaning(before.relation) !== kindOf(after.relation).meaning(after.relation))
        return undefined
      if (old === current) return undefined
      return old < current ? 'more' : 'fewer'
    },
    /** Another relation of the target, another field, or a step more or fewer. */
    mistakes({ name, field, resource, relation, depth }, own, { relationsOf }) {
      const form = { through: field, to: resource, relation: relation.name, ...(depth === undefined ? {} : { depth }) }
      const others = [...relationsOf(resource)].filter((one) => one.name !== relation.name && !climbs(one))
      const fields = [...own.fields.values()].filter(
        (one) => one.type === 'string' && one.name !== field && one.name !== 'id',
      )
      const depths = depth === undefined ? [] : [depth - 1, depth + 1].filter((steps) => steps >= 1 && steps <= 8)
      return [
        ...others
          .filter((one) => one.name !== name || resource !== own.name)
          .map((one) => ({ ...form, relation: one.name })),
        ...fields.map((one) => ({ ...form, through: one.name })),
        ...depths.map((steps) => ({ ...form, depth: steps })),
      ]
    },
  }

  /** Whether a chain that goes on with this relation could be too long. */
  function climbs(relation: Relation): boolean {
    return kindOf(relation).step?.(relation).depth !== undefined
  }
}

// Some other object that names this one has a relation: `{ some: memberships, where: projectId, relation: self }`.

interface ReferrerRelation extends RelationStep {
  readonly kind: 'referrer'
  readonly name: string
}

interface ReferrerForm {
  readonly some: string
  readonly where: string
  readonly relation: string
}

const ID = 'id'

export function referrerKind(kindOf: KindOf): RelationKind<ReferrerRelation, ReferrerForm> {
  return {
    isForm: (form): form is ReferrerForm => typeof form === 'object' && form !== null && 'some' in form,
    parse(name, { some, where, relation: wanted }, declaration) {
      const target = targetOf(some, 'some', declaration)
      const field = target && idField(where, 'where', { ...declaration, resource: target })
      if (!target || !field) return undefined
      const relation = declaration.relationOf(some, wanted, ['relation'])
      if (!relation) return undefined
      const step = { resource: some, by: where, relation }
      return isShortEnough(step, kindOf, declaration) ? { kind: 'referrer', name, ...step } : undefined
    },

    fields: () => [ID],
    attributes: ({ relation }) => kindOf(relation).attributes(relation),
    step: (relation) => relation,

    onResultOfWrite: 'proposed',
    condition({ resource, by, relation }, asking) {
      return { kind: 'related', field: ID, resource, by, where: kindOf(relation).condition(relation, asking) }
    },
    couldHold: ({ relation }, has) => kindOf(relation).couldHold(relation, has),

    describe: ({ resource, by, relation }) =>
      `an object of ${resource} names it in ${by} and has the relation ${relation.name}`,
    define: ({ resource, by, relation }) => say`some ${relation.name} of ${resource} by ${by}`,
    explain: (relation, known) => explainStep(ID, relation, known, kindOf),

    meaning: ({ resource, by, relation }) => JSON.stringify(['some', resource, by, kindOf(relation).meaning(relation)]),
    reach: () => undefined,
    /** Another relation of those objects, or another field of theirs. */
    mistakes({ name, resource, by, relation }, own, { relationsOf }) {
      const form = { some: resource, where: by, relation: relation.name }
      const others = [...relationsOf(resource)].filter((one) => one.name !== relation.name)
      return others
        .filter((one) => one.name !== name || resource !== own.name)
        .map((one) => ({ ...form, relation: one.name }))
    },
  }
}
