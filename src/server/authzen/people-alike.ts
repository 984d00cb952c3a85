/** A search for subjects decides once for all people who are alike to its question (src/analysis/callers-alike.ts). */
import { type CallersAlike, callersAlike, findIn } from '../../analysis/callers-alike.ts'
import { onceKnown } from '../../base/now-or-later.ts'
import { isBlocked } from '../../decide/decide.ts'
import { withFacts } from '../../decide/facts.ts'
import { askingOf } from '../../decide/grants/caller-grants.ts'
import { actionNamed } from '../../decide/grants/trust.ts'
import { represent } from '../../resources/object.ts'
import type { Store } from '../../store/contract.ts'
import { type Evaluated, evaluate } from './ask.ts'
import { routeAsked } from './asked-routes.ts'
import type { Evaluation } from './entities.ts'
import type { Pep } from './pep.ts'
import { subjectOf } from './trust.ts'

/** How the candidates of a search are decided. */
export interface Deciders {
  /** Each reads a fact once. */
  readonly makePep: () => Pep
  readonly evaluate: typeof evaluate
}

/** The most related objects that are read to find out who is alike; with more, each person is decided apart. */
const MOST_RELATED = 1000

/** Undefined where people can't be compared: the object isn't stored, or is changed before it is decided about. */
export async function peopleAlike(
  pep: Pep,
  store: Pick<Store, 'list'>,
  search: Pick<Evaluation, 'action' | 'resource'>,
): Promise<CallersAlike | undefined> {
  const { action, resource } = search
  const target = routeAsked(pep.resources, resource.type, actionNamed(pep.trust, resource.type, action.name))
  if ('reason' in target || target.resource.external || target.endpoint.operation === 'create') return undefined
  // What it creates is decided by rules about other resources, which aren't compared here.
  if (target.route.command?.creates.length) return undefined
  const stored = action.properties?.body ? undefined : await pep.facts.object(resource.type, resource.id)
  if (!stored) return undefined
  const alike = await callersAlike({
    snapshot: pep.policy.snapshot,
    resource: target.resource,
    asked: [target.endpoint.action],
    object: represent(stored),
    find: findIn(store, MOST_RELATED, pep),
  })
  return alike.lookup && alike
}

/** One evaluation for all people of the page who are alike, by what was read to compare them. */
export function decidingAlike(asked: Pep, alike: CallersAlike): Deciders {
  const { policy, now, facts } = asked
  const pep: Pep = { ...asked, ask: (steps) => withFacts(steps, { ...facts, lookup: alike.lookup ?? facts.lookup }) }
  const known = new Map<string, Evaluated | Promise<Evaluated>>()
  const evaluateOnce: typeof evaluate = (_, evaluation) =>
    onceKnown(subjectOf(pep, evaluation.subject), (found) => {
      if ('reason' in found) return evaluate(pep, evaluation)
      const { caller } = found
      const record = alike.attributes.length > 0 ? facts.user(caller.id) : undefined
      return onceKnown(record, (read) => {
        const subject = policy.snapshot.subjectOf(caller)
        const { valuesOf } = askingOf(caller, read, now)
        const key = alike.keyOf({ subject, blocked: isBlocked(policy.blocked, caller.id, now), valuesOf })
        return known.getOrInsertComputed(key, () => evaluate(pep, evaluation))
      })
    })
  return { makePep: () => pep, evaluate: evaluateOnce }
}
