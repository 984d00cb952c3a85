/** The names that a project declares, also while some of its files have faults; and what each means, in words. */
import { FileError, type Reporter } from '../../base/diagnostic.ts'
import { describeRelation } from '../../decide/relations/all-kinds.ts'
import { describeCondition, type RequestCondition } from '../../decide/request-conditions/all-conditions.ts'
import { parseConditions } from '../../policy/parse/parse-conditions.ts'
import { parseOwnership } from '../../policy/parse/parse-ownership.ts'
import { parseRoles, parseViews } from '../../policy/parse/parse-vocabulary.ts'
import type { RuleVocabulary } from '../../policy/parse/rule-scope.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { Resource } from '../../resources/resource.ts'
import type { EditedFiles } from '../edited-project.ts'
import type { NameKind, NameSlot } from './name-slot.ts'

export interface ProjectNames extends Omit<RuleVocabulary, 'conditions'> {
  readonly conditions: ReadonlyMap<string, RequestCondition>
  readonly files: PolicyFiles
}

/** Undefined while there are no schemas, or files of the policy are missing. `before`: for files with faults. */
export function knownNames(
  { reading, resources }: Pick<EditedFiles, 'reading' | 'resources'>,
  before?: ProjectNames,
): ProjectNames | undefined {
  const files = filesOf(reading)
  if (!resources || !files) return undefined
  const kept = <T extends { readonly size: number }>(read: (report: Reporter) => T, former: T | undefined): T => {
    let faulty = false
    const found = read(() => {
      faulty = true
    })
    return faulty && former && former.size > found.size ? former : found
  }
  const roles = kept((report) => parseRoles(files['roles.yaml'], report), before?.roles)
  const ownership = kept((report) => parseOwnership(files['ownership.yaml'], resources, report), before?.ownership)
  const views = kept((report) => parseViews(files['views.yaml'], resources, report), before?.views)
  const conditions = kept((report) => parseConditions(files['conditions.yaml'], ownership, report), before?.conditions)
  return { files, resources, roles, ownership, views, conditions }
}

function filesOf(reading: EditedFiles['reading']): PolicyFiles | undefined {
  try {
    return reading.files()
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

/** The names that may stand in a slot, with what each means. */
export function namesFor({ kinds, about }: NameSlot, known: ProjectNames): ReadonlyMap<string, NameKind> {
  return new Map(kinds.flatMap((kind) => namesOf(kind, about, known).map((name) => [name, kind] as const)))
}

function namesOf(kind: NameKind, about: readonly string[], known: ProjectNames): readonly string[] {
  const { resources, roles, ownership, views, conditions } = known
  const among = about.length > 0 && !about.includes('*') ? about : [...resources.byName.keys()]
  const each = (names: (resource: string) => Iterable<string> | undefined) => [
    ...new Set(among.flatMap((one) => [...(names(one) ?? [])])),
  ]
  switch (kind) {
    case 'role':
      return [...roles.keys()]
    case 'resource':
      return [...resources.byName.keys()]
    case 'condition':
      return [...conditions.keys()]
    case 'action':
      return each((one) => resources.byName.get(one)?.actions.keys())
    case 'field':
      return each((one) => resources.byName.get(one)?.fields.keys())
    case 'relation':
      return each((one) => ownership.get(one)?.relations.keys())
    case 'view':
      return each((one) => views.get(one)?.keys())
  }
}

function relationsOf({ ownership }: ProjectNames, resource: string) {
  return ownership.get(resource)?.relations
}

function viewsOf({ views }: ProjectNames, resource: string) {
  return views.get(resource)
}

/** A sentence or two for each resource; undefined for a name that isn't declared. */
export function meaningOfName(
  kind: NameKind,
  name: string,
  about: readonly string[],
  known: ProjectNames,
): string | undefined {
  const each = (say: (resource: string) => string | undefined) => {
    const said = about.flatMap((one) => {
      const text = say(one)
      return text === undefined ? [] : [`${one}: ${text}`]
    })
    return said.length > 0 ? said.join('\n') : undefined
  }
  switch (kind) {
    case 'role':
      return roleText(name, known)
    case 'resource':
      return resourceText(known.resources.byName.get(name))
    case 'condition': {
      const condition = known.conditions.get(name)
      return condition && describeCondition(condition)
    }
    case 'relation':
      return each((one) => {
        const relation = relationsOf(known, one)?.get(name)
        return relation && describeRelation(relation)
      })
    case 'view':
      return each((one) => viewsOf(known, one)?.get(name) && [...(viewsOf(known, one)?.get(name) ?? [])].join(', '))
    case 'action':
    case 'field':
      return undefined
  }
}

function roleText(name: string, { roles }: ProjectNames): string | undefined {
  const role = roles.get(name)
  return role && `${role.description}${role.privileged ? ' (privileged)' : ''}`
}

function resourceText(resource: Resource | undefined): string | undefined {
  return resource && `actions: ${[...resource.actions.keys()].join(', ')}`
}
