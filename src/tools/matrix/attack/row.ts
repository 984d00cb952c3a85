/** A row on which a relation of the victim's object would rest for the attacker, such as a membership of a project. */
import { v7 as uuidv7 } from 'uuid'
import { possibleSets } from '../../../analysis/possible-sets.ts'
import { comparedFields, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { arrangeObject } from '../arrange/arrange-object.ts'
import type { Named } from '../run/set-up-caller.ts'
import { CannotSetUp } from '../target/test-target.ts'
import type { AttackSetting } from './cast.ts'
import type { RowOf } from './references.ts'

interface Between {
  readonly caller: Named | undefined
  readonly object: Representation | undefined
}

/** The fields that the relation looks at, and the one that names the object. Throws CannotSetUp. */
export function rowFor(
  { suite, target }: AttackSetting,
  { resource, step }: RowOf,
  { caller, object }: Between,
): Representation {
  const relations = [step.relation, ...leavesOf(step.relation)]
  const ownership = { conceal: false, relations: new Map(relations.map((one) => [one.name, one])) }
  const samples = suite.samples.get(resource.name)
  const naming = object?.id ?? uuidv7()
  const value: Json = resource.fields.get(step.by)?.list ? [naming] : naming
  const fields = relations.filter((one) => !stepOf(one)).flatMap(comparedFields)
  const sets = possibleSets(relations, resource).filter((set) => set.has(step.relation.name))
  for (const set of samples ? sets : []) {
    const found = arrangeObject({
      resource,
      samples: samples ?? { smallest: {}, values: new Map() },
      ownership,
      relations: set,
      attributes: caller?.attributes ?? {},
      now: target.now(),
      id: uuidv7(),
      fixed: new Map([[step.by, value]]),
    })
    if (found.kind !== 'object') continue
    const named = Object.entries(found.object).filter(([field]) => fields.includes(field) || field === step.by)
    return Object.fromEntries(named)
  }
  throw new CannotSetUp(`no object of ${resource.name} could be made that gives ${step.relation.name} to the attacker`)
}
