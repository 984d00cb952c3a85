/** How large an object may become. Bodies are small, but many of them can add to one object. */
import { Problem } from '../base/problems/problem.ts'
import type { Document } from '../resources/object.ts'

/** Throws Problem object-too-large, unless the object becomes no larger than it was `before`. */
export function refuseTooLarge(limitBytes: number, document: Document, before?: Document): void {
  const size = sizeOf(document)
  if (size <= limitBytes || (before && size <= sizeOf(before))) return
  // By how much isn't told: the caller may not be able to read all of it.
  throw new Problem('object-too-large', `An object has at most ${limitBytes} bytes as JSON; make this one smaller.`)
}

function sizeOf(document: Document): number {
  return Buffer.byteLength(JSON.stringify(document))
}
