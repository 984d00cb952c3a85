/** All attacks of a policy, in an arena that is left as it was found. */
import { ReviewError } from '../../load-policy.ts'
import { Grants } from '../predict/grants.ts'
import type { Folders, Ground } from '../run/bind.ts'
import { loadGround } from '../run/load-ground.ts'
import type { Arena } from '../target/test-target.ts'
import type { Reached } from './attack.ts'
import type { AttackRun } from './attack-report.ts'
import { carryOut } from './carry-out.ts'
import { planAttacks } from './plan-attacks.ts'

export interface AttackOptions extends Folders {
  /** Only these; empty for all. */
  readonly resources: readonly string[]
  readonly parallel?: number
  /** Ends the run early. */
  readonly signal?: AbortSignal
  readonly openArena: (ground: Ground) => Promise<Arena>
  readonly started: (attacks: number) => void
  readonly observe: (reached: Reached) => void
}

/** Throws FileError for faulty files, and ReviewError where nothing can be attacked. */
export async function attackAll(options: AttackOptions): Promise<AttackRun> {
  const ground = await loadGround(options, [])
  const grants = new Grants(ground.policy, Date.now())
  const attacks = planAttacks(ground, grants, options.resources)
  if (attacks.length === 0) throw new ReviewError('there is nothing to attack; see --resource, and roles.yaml')
  const arena = await options.openArena(ground)
  const reached: Reached[] = []
  try {
    options.started(attacks.length)
    const raid = { ground, grants, stage: arena.stage, now: Date.now }
    const queue = attacks.values()
    const work = async () => {
      for (const attack of queue) {
        if (options.signal?.aborted) return
        const result = await carryOut(raid, attack)
        reached.push(result)
        options.observe(result)
      }
    }
    await Promise.all(Array.from({ length: options.parallel ?? arena.parallel }, work))
  } catch (error) {
    await arena.leave()
    throw error
  }
  const left = attacks.length - reached.length
  const cut = left > 0 ? [`The run ended early: ${left} attacks were left out.`] : []
  return { url: arena.url, reached: inOrder(attacks, reached), remarks: [...cut, ...(await arena.leave())] }
}

function inOrder(attacks: readonly Reached['attack'][], reached: readonly Reached[]): readonly Reached[] {
  const places = new Map(attacks.map((attack, i) => [attack, i]))
  return reached.toSorted((a, b) => (places.get(a.attack) ?? 0) - (places.get(b.attack) ?? 0))
}
