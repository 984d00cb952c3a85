/** All attacks of a policy, on targets that are left as they were found. */
import { ReviewError } from '../../load-policy.ts'
import { evaluatePolicy } from '../predict/answer.ts'
import { type Folders, loadSuite, type Suite } from '../predict/suite.ts'
import type { TargetPool } from '../target/test-target.ts'
import type { AttackRun } from './attack-report.ts'
import { carryOut, type Reached } from './carry-out.ts'
import { planAttacks } from './plan-attacks.ts'

export interface AttackOptions extends Folders {
  /** Only these; empty for all. */
  readonly resources: readonly string[]
  readonly parallel?: number
  /** Ends the run early. */
  readonly signal?: AbortSignal
  readonly openTargets: (suite: Suite) => Promise<TargetPool>
  readonly started: (attacks: number) => void
  readonly observe: (reached: Reached) => void
}

/** Throws FileError for faulty files, and ReviewError where nothing can be attacked. */
export async function attackAll(options: AttackOptions): Promise<AttackRun> {
  const suite = await loadSuite(options, [])
  const evaluated = evaluatePolicy(suite.policy, suite.resources, Date.now())
  const attacks = planAttacks(suite, evaluated, options.resources)
  if (attacks.length === 0) throw new ReviewError('there is nothing to attack; see --resource, and roles.yaml')
  const pool = await options.openTargets(suite)
  const reached: Reached[] = []
  try {
    options.started(attacks.length)
    const context = { suite, evaluated, target: pool.target, now: Date.now }
    const queue = attacks.values()
    const work = async () => {
      for (const attack of queue) {
        if (options.signal?.aborted) return
        const result = await carryOut(context, attack)
        reached.push(result)
        options.observe(result)
      }
    }
    await Promise.all(Array.from({ length: options.parallel ?? pool.parallel }, work))
  } catch (error) {
    await pool.close()
    throw error
  }
  const left = attacks.length - reached.length
  const cut = left > 0 ? [`The run ended early: ${left} attacks were left out.`] : []
  return { url: pool.url, reached: inOrder(attacks, reached), remarks: [...cut, ...(await pool.close())] }
}

function inOrder(attacks: readonly Reached['attack'][], reached: readonly Reached[]): readonly Reached[] {
  const places = new Map(attacks.map((attack, i) => [attack, i]))
  return reached.toSorted((a, b) => (places.get(a.attack) ?? 0) - (places.get(b.attack) ?? 0))
}
