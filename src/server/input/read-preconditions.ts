/** If-Match and If-None-Match (RFC 9110 sections 13.1.1 and 13.1.2). Objects have no Last-Modified, so no date is asked. */
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'
import type { EntityTag, Preconditions, TagCondition } from './input.ts'

/** One element of the list, which may be empty (RFC 9110 section 5.6.1.2), and what ends it. No part can match twice. */
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

/** Passed over in silence, a faulty If-Match would lose an update. */
function readCondition(name: string, value: string): TagCondition {
  if (value === '*') return { kind: 'any' }
  const tags = readTags(value)
  if (tags && tags.length > 0) return { kind: 'listed', tags }
  const detail = `The header ${name} must be * or entity tags in double quotes, as ETag has them.`
  throw new Problem('invalid-precondition', detail)
}

/** Undefined for what is no list of entity tags. */
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
