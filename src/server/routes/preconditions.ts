/** Checks the preconditions of a request (RFC 9110 section 13.2). src/server/input/read-headers.ts reads them. */
import { Problem } from '../../base/problems/problem.ts'
import type { TagCondition } from '../input/input.ts'
import { type Item, stateOfTag } from './entity-tag.ts'
import type { HandledRequest, Services } from './handler.ts'

type Guarded = Pick<HandledRequest, 'preconditions' | 'route'>

/**
 * For a write: throws Problem precondition-required or precondition-failed. It compares only states, so a change of
 * what a caller may see doesn't break the caller's writes. `item` is the object in the permit; undefined for POST,
 * because its target, the collection, has no tag.
 */
export function refuseUnmet({ tags }: Services, { preconditions, route }: Guarded, item: Item | undefined): void {
  const { ifMatch, ifNoneMatch } = preconditions
  if (item && route.precondition === 'required' && !ifMatch) {
    throw new Problem(
      'precondition-required',
      'This request needs the header If-Match; send the ETag that you read last.',
    )
  }
  if (!ifMatch && !ifNoneMatch) return
  const state = item && tags.stateOf(item)
  refuseOtherState(ifMatch, state)
  if (!ifNoneMatch) return
  if (ifNoneMatch.kind === 'any')
    throw failed('The target of this request exists already, but If-None-Match is *; omit the header.')
  if (ifNoneMatch.tags.some(({ opaque }) => stateOfTag(opaque) === state)) {
    throw failed('The object is in a state that If-None-Match excludes; omit the header to write it.')
  }
}

/**
 * For GET and HEAD: whether the client already has the representation with this tag (weak comparison; without quotes).
 * Throws precondition-failed.
 */
export function isKnown({ tags }: Services, { preconditions }: Guarded, item: Item, current: string): boolean {
  const { ifMatch, ifNoneMatch } = preconditions
  if (ifMatch) refuseOtherState(ifMatch, tags.stateOf(item))
  if (!ifNoneMatch || ifNoneMatch.kind === 'any') return ifNoneMatch !== undefined
  return ifNoneMatch.tags.some(({ opaque }) => opaque === current)
}

/** Strong comparison (RFC 9110 section 13.1.1): a weak tag never matches. */
function refuseOtherState(ifMatch: TagCondition | undefined, state: string | undefined): void {
  if (!ifMatch || ifMatch.kind === 'any') return
  const fits = ifMatch.tags.some(({ weak, opaque }) => !weak && state !== undefined && stateOfTag(opaque) === state)
  if (!fits) throw failed('The object is not in the state that If-Match names; read it again.')
}

function failed(detail: string): Problem {
  return new Problem('precondition-failed', detail)
}
