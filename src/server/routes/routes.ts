/** The last stage: runs the handler of the route. A write that came too late is decided anew, and tried again in its turn. */
import { ownerFieldOf } from '../../decide/relations/ownership.ts'
import { StaleObject, type Store } from '../../store/contract.ts'
import { Turns } from '../http/turns.ts'
import { createWrites } from '../stages/commit.ts'
import type { Stage, StageContext, Writable } from '../stages/stage.ts'
import type { Accepted, Addressed, Authorized, Handled, Received, Validated } from '../stages/state.ts'
import { handle } from './handle.ts'
import type { Outcome } from './outcome.ts'
import type { Asking, Services } from './services.ts'

/** How often a write is decided when the object changes between the decision and the write. */
const ATTEMPTS = 8

type Read = Received & Addressed & Accepted & Authorized & Validated

export function routes(store: Store, services: Services): Stage<Read, Handled> {
  const turns = new Turns()
  return async (ctx) => {
    const { state } = ctx
    const asking = askingOf(ctx, store)
    try {
      state.outcome = await handle(services, asking, state.decision, state.input)
      return
    } catch (error) {
      if (!(error instanceof StaleObject)) throw error
    }
    const object = 'object' in state.decision ? state.decision.object.id : ''
    const again = () => decideAndHandle(state, () => handle(services, asking, state.decision, state.input))
    state.outcome = await turns.take(`${asking.resource.name}/${object}`, again)
  }
}

/** Within this process nobody comes before a write in its turn; another process may. */
async function decideAndHandle(
  state: Writable<Authorized>,
  handleAgain: () => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  for (let attempt = 2; ; attempt++) {
    state.decision = await state.decideAnew()
    try {
      return await handleAgain()
    } catch (error) {
      if (!(error instanceof StaleObject) || attempt === ATTEMPTS) throw error
    }
  }
}

function askingOf({ method, state }: StageContext<Read>, store: Store): Asking {
  const { policy, accepted, resource, address, input } = state
  const { match, caller } = accepted
  const { route, endpoint, target } = match
  const { preconditions, idempotencyKey } = input
  const owner = ownerFieldOf(resource, policy.snapshot.ownershipOf(resource.name))
  return {
    method: method as Asking['method'],
    route,
    endpoint,
    resource,
    caller,
    address,
    owner: owner && { name: owner.name, list: owner.list },
    snapshot: policy.snapshot,
    path: target.path,
    query: target.query,
    writes: createWrites(store, state),
    preconditions,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}
