/** Findings for programs; docs/schemas/policy-check.schema.json is the shape. */
import type { CheckReport } from './check-policy.ts'

export function findingsJson({ errors, warnings, suppressed, more, findings }: CheckReport): string {
  return `${JSON.stringify({ errors, warnings, suppressed, more, findings }, null, 2)}\n`
}
