/** All attacks of a policy, on targets that are left as they were found. */
import { ToolError } from '../../load-policy.ts'
import { loadSuite, predictedSuite } from '../predict/suite.ts'
import { type RunOptions, workThrough } from '../target/work-through.ts'
import type { AttackRun } from './attack-report.ts'
import { carryOut, type Reached } from './carry-out.ts'
import { planAttacks } from './plan-attacks.ts'

export interface AttackOptions extends RunOptions<Reached> {
  /** Only these; empty for all. */
  readonly resources: readonly string[]
}

/** Throws FileError for faulty files, and ToolError where nothing can be attacked. */
export async function attackAll(options: AttackOptions): Promise<AttackRun> {
  const suite = await loadSuite(options, [])
  const predicted = predictedSuite(suite, Date.now())
  const attacks = await planAttacks(predicted, options.resources)
  if (attacks.length === 0)
    throw new ToolError('there is nothing to attack: name another --resource, or declare roles in roles.yaml')
  const pool = await options.openTargets(suite)
  options.started(attacks.length)
  const context = { suite, predicted, pool }
  const { results, remarks } = await workThrough(attacks, pool, options, (attack) => carryOut(context, attack))
  const left = attacks.length - results.size
  const cut = left > 0 ? [`The run ended early: ${left} attacks were left out.`] : []
  const reached = attacks.flatMap((attack) => results.get(attack) ?? [])
  return { url: pool.url, reached, remarks: [...cut, ...remarks] }
}
