/** All attacks of a policy, on targets that are left as they were found. */
import { ReviewError } from '../../load-policy.ts'
import { evaluatePolicy } from '../predict/answer.ts'
import { loadSuite } from '../predict/suite.ts'
import { type RunOptions, workThrough } from '../target/work-through.ts'
import type { AttackRun } from './attack-report.ts'
import { carryOut, type Reached } from './carry-out.ts'
import { planAttacks } from './plan-attacks.ts'

export interface AttackOptions extends RunOptions<Reached> {
  /** Only these; empty for all. */
  readonly resources: readonly string[]
}

/** Throws FileError for faulty files, and ReviewError where nothing can be attacked. */
export async function attackAll(options: AttackOptions): Promise<AttackRun> {
  const suite = await loadSuite(options, [])
  const evaluated = evaluatePolicy(suite.policy, suite.resources, Date.now())
  const attacks = planAttacks(suite, evaluated, options.resources)
  if (attacks.length === 0)
    throw new ReviewError('there is nothing to attack: name another --resource, or declare roles in roles.yaml')
  const pool = await options.openTargets(suite)
  options.started(attacks.length)
  const context = { suite, evaluated, target: pool.target, now: Date.now }
  const { results, remarks } = await workThrough(attacks, pool, options, (attack) => carryOut(context, attack))
  const left = attacks.length - results.size
  const cut = left > 0 ? [`The run ended early: ${left} attacks were left out.`] : []
  const reached = attacks.flatMap((attack) => results.get(attack) ?? [])
  return { url: pool.url, reached, remarks: [...cut, ...remarks] }
}
