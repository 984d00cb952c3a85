/** What a report says of the expectations that it could not count on. */
import type { Statements } from './stated.ts'

export function leftOutLines({ unmet, unpredictable }: Pick<Statements, 'unmet' | 'unpredictable'>): readonly string[] {
  const red = `${unmet} expectations don't hold of the policy as it is and were left out; sallyport matrix test names them`
  const steps = `${unpredictable} cases with headers, a query or a JSON Patch were left out; only a server can answer them`
  const lines = [...(unmet > 0 ? [red] : []), ...(unpredictable > 0 ? [steps] : [])]
  return lines.length === 0 ? [] : [...lines, '']
}
