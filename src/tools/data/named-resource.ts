/** The resources whose objects are stored, by name. */
import { oneOf } from '../../base/did-you-mean.ts'
import type { Resource } from '../../resources/resource.ts'
import { ToolError } from '../load-policy.ts'

/** Throws ToolError. */
export function resourceNamed(name: string, stored: readonly Resource[]): Resource {
  const found = stored.find((one) => one.name === name)
  if (found) return found
  const known = stored.map((one) => one.name)
  throw new ToolError(`no schema declares the resource \`${name}\`: name ${oneOf(name, known)}`)
}
