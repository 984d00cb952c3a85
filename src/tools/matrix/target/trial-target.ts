/** The arena in this process: one throw-away server, and another for a cell that must have one alone. */

import type { Expectation } from '../read/expectation.ts'
import type { Folders, Ground } from '../run/bind.ts'
import type { Arena, Lease } from './test-target.ts'
import { createLoneStage, createTrialStage, type StartTrialServer } from './trial-server.ts'

/** One process serves and asks: more at once only wait for each other. */
const PARALLEL = 16

export async function openTrialArena(ground: Ground, folders: Folders, startServer: StartTrialServer): Promise<Arena> {
  const server = await startServer(folders)
  const stage = createTrialStage(server)
  const shared: Lease = { stage, release: async () => {} }
  return {
    url: undefined,
    parallel: PARALLEL,
    stage,
    async lend(expectation) {
      if (!needsOwnServer(ground, expectation)) return shared
      const alone = await startServer(folders)
      return { stage: createLoneStage(alone), release: () => alone.stop() }
    },
    async leave() {
      await server.stop()
      return []
    },
  }
}

/**
 * A record or a session of `user:alice`, or an object that a relation names by its id or a unique value, can be there once, and
 * is another for each cell.
 */
function needsOwnServer({ policy, resources }: Ground, expectation: Expectation): boolean {
  const { column, path, object } = expectation
  const route = resources.routes.find((one) => one.path === path)
  const relations = [...(policy.ownership.get(route?.resource ?? '')?.relations.values() ?? [])]
  const held = relations.filter(
    ({ name }) => object.kind === 'none' || (object.kind === 'relations' && object.names.includes(name)),
  )
  const fields = resources.byName.get(route?.resource ?? '')?.fields
  const isOnce = (name: string) => name === 'id' || fields?.get(name)?.unique
  if (held.some(({ kind, field }) => kind === 'state' && isOnce(field))) return true
  if (column.kind !== 'user') return false
  if (route?.kind === 'caller') return true
  return held.some((one) => one.kind === 'caller' && (one.field === 'id' || one.attribute !== 'id'))
}
