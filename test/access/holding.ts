/** Which conditions hold for the requests of people in a served world, to compare them with the cases of a report. */
import { conditionHolds } from '../../src/decide/request-conditions/all-conditions.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { loadPolicy } from '../../src/tools/load-policy.ts'
import type { World } from '../policy/world.ts'
import type { ServedWorld } from '../request/served-world.ts'

/** The names of the conditions that hold for the requests of this test. */
export async function conditionsOf({ env }: Pick<ServedWorld, 'env'>, world: World): Promise<ReadonlySet<string>> {
  const { policy } = await loadPolicy(env.POLICIES ?? '', await loadResources(env.SCHEMAS ?? ''))
  const { authTime, acr } = world.caller
  const facts = {
    now: world.now ?? 0,
    address: world.address,
    authTime,
    acr,
    credential: 'password',
    hasCredentials: true,
  }
  return new Set([...policy.conditions.values()].filter((one) => conditionHolds(one, facts)).map(({ name }) => name))
}

/** Whether terms as in the relation column hold. */
export function fits(terms: string, holding: ReadonlySet<string>): boolean {
  return terms.split('+').every((term) => holding.has(term.replace('!', '')) !== term.startsWith('!'))
}
