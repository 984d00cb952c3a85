/** The candidates of an action search: what the resource's routes do with an object, in the words of the service. */
import { byText } from '../../../base/by-text.ts'
import { actionNamed } from '../../../decide/grants/trust.ts'
import type { Asker } from '../asker.ts'
import { actionsAsked } from '../route-asked.ts'
import type { Candidates } from './candidates.ts'
import type { ActionSearch } from './search-request.ts'

export function actionsFor(asker: Asker, search: ActionSearch): Candidates {
  const { subject, resource, context } = search
  const names = actionNames(asker, resource.type).map((name) => ({
    key: name,
    evaluation: { subject, resource, action: { name }, ...(context && { context }) },
    result: { name },
  }))
  return async (after, most) => names.filter(({ key }) => after === undefined || byText(key, after) > 0).slice(0, most)
}

/**
 * Each action by the names that the service has for it in callers.yaml, or else by its own. A new object is no object
 * that is searched about, so creating it is left out.
 */
function actionNames({ resources, trust }: Asker, type: string): readonly string[] {
  const aliases = new Set(['*', type].flatMap((resource) => [...(trust.aliases.get(resource)?.keys() ?? [])]))
  const namesOf = (action: string) => {
    const own = [...aliases].filter((alias) => actionNamed(trust, type, alias) === action)
    if (own.length > 0) return own
    return actionNamed(trust, type, action) === action ? [action] : []
  }
  const onObjects = actionsAsked(resources, type).filter(
    ({ endpoint: { operation, action } }) => operation !== 'create' && action !== 'create',
  )
  return onObjects.flatMap(({ endpoint }) => namesOf(endpoint.action)).toSorted(byText)
}
