/**
 * Some other object that names this one has a relation: `{ some: memberships, where: projectId, relation: self }`.
 */
import { say } from '../../present/phrase.ts'
import type { KindOf, RelationKind, RelationStep } from './relation-kind.ts'
import { explainStep, idField, isShortEnough, targetOf } from './steps.ts'

export interface ReferrerRelation extends RelationStep {
  readonly kind: 'referrer'
  readonly name: string
}

interface Form {
  readonly some: string
  readonly where: string
  readonly relation: string
}

const ID = 'id'

export function referrerKind(kindOf: KindOf): RelationKind<ReferrerRelation, Form> {
  return {
    isForm: (form): form is Form => typeof form === 'object' && form !== null && 'some' in form,
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
