/** The names of claims as settings write them, and what tokens hold there. */
import { pathOfPointer } from '../../base/json-pointer.ts'

/** From the claims inwards. */
export type ClaimPath = readonly string[]

/**
 * `roles`; `realm_access.roles` for a claim within a claim; `https://example.com/roles` as one name, because a URL's dots part
 * nothing; and a JSON Pointer (RFC 6901) for every other name with dots: `/resource_access/my.app/roles`. Undefined for a name
 * that has an empty part.
 */
export function readClaimPath(text: string): ClaimPath | undefined {
  const path = partsOf(text)
  return path.every((part) => part !== '') ? path : undefined
}

function partsOf(text: string): ClaimPath {
  if (text.startsWith('/')) return pathOfPointer(text)
  return text.includes('://') ? [text] : text.split('.')
}

/** Undefined where there is no such claim. Claims are what the token says itself, never what every object has. */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}
