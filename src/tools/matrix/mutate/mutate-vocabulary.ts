/** The mistakes in views.yaml, ownership.yaml and conditions.yaml: a name that means more, or something else. */
import type { Policy } from '../../../decide/policy.ts'
import { kindOf, stepsIn } from '../../../decide/relations/all-kinds.ts'
import { conditionMistakes } from '../../../decide/request-conditions/all-conditions.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Resource } from '../../../resources/resource.ts'
import { withValue } from './edits.ts'
import type { Mutant, Source } from './mutants.ts'

/** The values that a field can have, as far as the schema lists them. */
export type ValuesOf = (resource: Resource, field: string) => readonly Scalar[]

export function mutateVocabulary(source: Source, policy: Policy, valuesOf: ValuesOf): readonly Mutant[] {
  const ofResources = [...source.resources.byName.values()].flatMap((resource) => [
    ...addFields(source, policy, resource),
    ...changeRelations(source, policy, resource, valuesOf),
    ...flipConceal(source, policy, resource),
  ])
  return [...ofResources, ...changeConditions(source, policy)]
}

function changeConditions({ files }: Source, { conditions }: Policy): readonly Mutant[] {
  return [...conditions].flatMap(([name, condition]) =>
    conditionMistakes(condition).map((to) => ({
      ...withValue(files, { operator: 'change-condition', file: 'conditions.yaml', path: [name], to }),
      resource: undefined,
    })),
  )
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
    kindOf(relation)
      .mistakes(relation, resource, {
        valuesOf: (field) => valuesOf(resource, field),
        relationsOf: (other) => ownership.get(other)?.relations.values() ?? [],
      })
      .map((to) => {
        const path = [resource.name, 'relations', relation.name] as const
        const mutant = withValue(files, { operator: 'change-relation', file: 'ownership.yaml', path, to })
        return isRestedOn(ownership, resource) ? { ...mutant, resource: undefined } : mutant
      }),
  )
}

/** Whether relations of other resources rest on objects of this one. */
function isRestedOn(ownership: Policy['ownership'], { name }: Resource): boolean {
  return [...ownership].some(([other, { relations }]) => {
    const steps = [...relations.values()].flatMap(stepsIn)
    return other !== name && steps.some(({ resource }) => resource === name)
  })
}

function flipConceal({ files }: Source, { ownership }: Policy, { name }: Resource): readonly Mutant[] {
  const owned = ownership.get(name)
  if (!owned) return []
  const path = [name, 'conceal'] as const
  return [withValue(files, { operator: 'flip-conceal', file: 'ownership.yaml', path, to: !owned.conceal })]
}
