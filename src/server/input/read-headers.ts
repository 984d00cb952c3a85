/**
 * If-Match and If-None-Match (RFC 9110 sections 13.1.1 and 13.1.2; objects have no Last-Modified), and Idempotency-Key.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'
import type { EntityTag, Preconditions, TagCondition } from './input.ts'

/**
 * One element of the list, which may be empty (RFC 9110 section 5.6.1.2), and what ends it. No part can match twice.
 */
const ELEMENT = /(?:(?<weak>W\/)?"(?<opaque>[\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,[ \t]*|$)/y

/** Throws Problem invalid-precondition. */
export function readPreconditions({ headers }: IncomingMessage): Preconditions {
  const ifMatch = headers['if-match']
  const ifNoneMatch = headers['if-none-match']
  return {
    ...(ifMatch === undefined ? {} : { ifMatch: readCondition('If-Match', ifMatch) }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch: readCondition('If-None-Match', ifNoneMatch) }),
  }
}

/** Ignoring a faulty If-Match could lose an update. */
function readCondition(name: string, value: string): TagCondition {
  if (value === '*') return { kind: 'any' }
  const tags = readTags(value)
  if (tags && tags.length > 0) return { kind: 'listed', tags }
  const detail = `The header ${name} is not valid; send * or entity tags in double quotes, as in ETag.`
  throw new Problem('invalid-precondition', detail)
}

/** Undefined if the text isn't a list of entity tags. */
function readTags(value: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = []
  let at = 0
  while (at < value.length) {
    ELEMENT.lastIndex = at
    const found = ELEMENT.exec(value)
    if (!found) return undefined
    const { weak, opaque } = found.groups ?? {}
    if (opaque !== undefined) tags.push({ weak: weak !== undefined, opaque })
    at += found[0].length
  }
  return tags
}

const LONGEST_KEY = 255

/** A string of RFC 8941 section 3.3.3. */
const QUOTED = /^"(?<inner>(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
const BARE = /^[\x21\x23-\x2b\x2d-\x7e]*$/

/**
 * Without quotes and escapes, so that `"a"` and `a` are one key; undefined without the header. Throws Problem
 * invalid-idempotency-key.
 */
export function readIdempotencyKey({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | undefined {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'idempotency-key')
  const [value, ...others] = values
  if (value === undefined) return undefined
  const key = others.length === 0 ? readKey(value.trim()) : undefined
  if (key !== undefined && key !== '' && key.length <= LONGEST_KEY) return key
  const form = `1 to ${LONGEST_KEY} printable ASCII characters, in double quotes if one is a space, a comma or a quote`
  throw new Problem('invalid-idempotency-key', `The header Idempotency-Key is not valid; send it once, with ${form}.`)
}

function readKey(value: string): string | undefined {
  const quoted = QUOTED.exec(value)?.groups?.inner
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1')
  return BARE.test(value) ? value : undefined
}
