/** What a report says of the expectations that it could not count on. */
import type { Statements } from '../predict/stated.ts'

/** `unasked`: how many cells can be, and no object was found for them. */
type LeftOut = Pick<Statements, 'unmet' | 'unpredictable'> & { readonly unasked: number }

export function leftOutLines({ unmet, unpredictable, unasked }: LeftOut): readonly string[] {
  const red = `${unmet} expectations don't hold of the policy as it is and were left out; sallyport matrix test names them`
  const steps = `${unpredictable} cases with headers, a query or a JSON Patch were left out; only a server can answer them`
  const open = `${unasked} cells can't be asked, so a mistake that shows only there goes unnoticed; sallyport matrix coverage lists them`
  const lines = [...(unmet > 0 ? [red] : []), ...(unpredictable > 0 ? [steps] : []), ...(unasked > 0 ? [open] : [])]
  return lines.length === 0 ? [] : [...lines, '']
}
