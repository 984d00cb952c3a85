/** A replay for programs; docs/schemas/policy-replay.schema.json is its shape. */
import { rulePlace } from '../../decide/evidence.ts'
import type { ReplayReport } from './replay.ts'

export function formatJson({ undecidable, groups, ...counts }: ReplayReport): string {
  const reasons = [...undecidable].map(([why, count]) => ({ why, count }))
  const differences = groups.map(({ roles = null, lines, ...group }) => ({
    ...group,
    roles,
    rules: lines.map(rulePlace),
  }))
  return `${JSON.stringify({ ...counts, undecidable: reasons, differences }, undefined, 2)}\n`
}
