/** The mistakes in views.yaml and ownership.yaml: a name that means more, or something else. */
import type { Policy, Relation } from '../../../decide/policy.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Resource } from '../../../resources/resource.ts'
import type { Mutant, Source } from './mutants.ts'
import { withValue } from './yaml-edits.ts'

/** The values that a field can have, as far as the schema lists them. */
export type ValuesOf = (resource: Resource, field: string) => readonly Scalar[]

export function mutateVocabulary(source: Source, policy: Policy, valuesOf: ValuesOf): readonly Mutant[] {
  return [...source.resources.byName.values()].flatMap((resource) => [
    ...addFields(source, policy, resource),
    ...changeRelations(source, policy, resource, valuesOf),
    ...flipConceal(source, policy, resource),
  ])
}

function addFields({ files }: Source, { views }: Policy, { name, fields }: Resource): readonly Mutant[] {
  return [...(views.get(name) ?? [])].flatMap(([view, held]) =>
    [...fields.keys()]
      .filter((field) => !held.has(field))
      .map((field) =>
        withValue(files, {
          operator: 'add-field',
          file: 'views.yaml',
          path: [name, view] as const,
          to: [...held, field],
        }),
      ),
  )
}

function changeRelations(
  { files }: Source,
  { ownership }: Policy,
  resource: Resource,
  valuesOf: ValuesOf,
): readonly Mutant[] {
  const relations = [...(ownership.get(resource.name)?.relations.values() ?? [])]
  return relations.flatMap((relation) =>
    otherMeanings(relation, resource, valuesOf).map((to) => {
      const path = [resource.name, 'relations', relation.name] as const
      return withValue(files, { operator: 'change-relation', file: 'ownership.yaml', path, to })
    }),
  )
}

function otherMeanings(relation: Relation, resource: Resource, valuesOf: ValuesOf): readonly unknown[] {
  return relation.kind === 'caller'
    ? otherFields(relation, resource)
    : otherConstants(relation, valuesOf(resource, relation.field))
}

/** Each other field of the same type. */
function otherFields({ field, attribute }: Relation & { readonly kind: 'caller' }, { fields }: Resource) {
  const type = fields.get(field)?.type
  const others = [...fields.values()].filter((one) => one.type === type && one.name !== field)
  return others.map(({ name }) => (attribute === 'id' ? name : { field: name, equals: `subject.${attribute}` }))
}

/** A constant less, more, or in place of another; all there are, which is the predicate dropped. */
function otherConstants({ field, values }: Relation & { readonly kind: 'state' }, possible: readonly Scalar[]) {
  const others = possible.filter((value) => !values.includes(value))
  const fewer = values.length < 2 ? [] : values.map((left) => values.filter((value) => value !== left))
  const more = others.map((value) => [...values, value])
  const swapped = values.flatMap((left) => others.map((value) => values.map((one) => (one === left ? value : one))))
  const all = others.length > 1 ? [[...values, ...others]] : []
  return [...fewer, ...more, ...swapped, ...all].map((constants) => ({ field, in: constants }))
}

function flipConceal({ files }: Source, { ownership }: Policy, { name }: Resource): readonly Mutant[] {
  const owned = ownership.get(name)
  if (!owned) return []
  const path = [name, 'conceal'] as const
  return [withValue(files, { operator: 'flip-conceal', file: 'ownership.yaml', path, to: !owned.conceal })]
}
