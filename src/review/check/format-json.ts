/** Findings for programs; docs/schemas/policy-check.schema.json is the shape. */
import type { CheckReport } from './check-policy.ts'

export function formatJson({ findings, suppressed }: CheckReport): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const report = { errors, warnings: findings.length - errors, suppressed, findings }
  return `${JSON.stringify(report, null, 2)}\n`
}
