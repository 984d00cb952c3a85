/**
 * Applies a JSON Patch (RFC 6902) to an object, completely or not at all. The package `rfc6902` ignores `__proto__` and
 * `constructor` in a path and finds inherited properties, so only the tests use it, as an oracle (docs/decisions/0086).
 */
import { Problem } from '../../../base/problems/problem.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { measure, sameJson } from './measure.ts'
import type { PatchOperation } from './operation.ts'
import { fault, invalidPatch, MAX_DEPTH } from './parse.ts'
import { add, NoSuchPlace, remove, replace, valueAt } from './place.ts'

/**
 * `conflict`: the object isn't as the patch expects. `invalid`: the patch fits no state of the object. The problem is
 * thrown later, in the order of the checks.
 */
export type Applied =
  | { readonly kind: 'applied'; readonly after: Representation }
  | { readonly kind: 'conflict' | 'invalid'; readonly problem: Problem }

/**
 * In characters: the most that the copies and moves of one patch may carry. Without a limit, 20 copies make a million
 * characters of one.
 */
const MAX_CARRIED = 200_000

/** Doesn't change its arguments. */
export function applyJsonPatch(before: Representation, operations: readonly PatchOperation[]): Applied {
  const draft = structuredClone(before)
  let carried = 0
  for (const [i, operation] of operations.entries()) {
    try {
      carried += apply(draft, operation)
      if (carried > MAX_CARRIED)
        throw new Unapplicable('invalid-patch', 'from', 'copies and moves too much; split the patch')
    } catch (error) {
      if (!(error instanceof Unapplicable)) throw error
      return { kind: error.code === 'invalid-patch' ? 'invalid' : 'conflict', problem: problemOf(error, i) }
    }
  }
  return { kind: 'applied', after: draft }
}

type Member = 'path' | 'from' | 'value'

class Unapplicable extends Error {
  readonly code: 'invalid-patch' | 'patch-conflict' | 'patch-test-failed'
  /** The faulty member of the operation. */
  readonly member: Member

  constructor(code: Unapplicable['code'], member: Member, message: string) {
    super(message)
    this.code = code
    this.member = member
  }
}

/** Changes the draft; returns how many characters it copied or moved. Throws Unapplicable. */
function apply(draft: Representation, operation: PatchOperation): number {
  const { path } = operation
  switch (operation.op) {
    case 'add':
      place('path', () => add(draft, path, ownCopy(path, operation.value).value))
      return 0
    case 'replace':
      place('path', () => replace(draft, path, ownCopy(path, operation.value).value))
      return 0
    case 'remove':
      place('path', () => remove(draft, path))
      return 0
    case 'test':
      if (place('path', () => sameJson(valueAt(draft, path), operation.value))) return 0
      throw new Unapplicable('patch-test-failed', 'value', 'is not the stored value')
    default:
      return carry(draft, operation)
  }
}

function carry(draft: Representation, { op, from, path }: Extract<PatchOperation, { readonly from: unknown }>): number {
  const found = place('from', () => valueAt(draft, from))
  const { value, size } = place('path', () => ownCopy(path, found))
  if (op === 'move') remove(draft, from)
  place('path', () => add(draft, path, value))
  return size
}

/** A patch must not build, step by step, a value that a body could not contain. */
function ownCopy({ length }: readonly string[], value: Json): { readonly value: Json; readonly size: number } {
  const { depth, size } = measure(value)
  if (length + depth > MAX_DEPTH) throw new NoSuchPlace('malformed', `would nest deeper than ${MAX_DEPTH} levels`)
  return { value: structuredClone(value), size }
}

/** Throws Unapplicable for NoSuchPlace. */
function place<T>(member: Member, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof NoSuchPlace)) throw error
    throw new Unapplicable(error.kind === 'absent' ? 'patch-conflict' : 'invalid-patch', member, error.message)
  }
}

function problemOf({ code, member, message }: Unapplicable, index: number): Problem {
  const errors = [fault(`/${index}/${member}`, message, code)]
  if (code === 'invalid-patch') return invalidPatch(errors)
  const detail =
    code === 'patch-test-failed'
      ? 'A test of the patch failed, so nothing was changed; read the object again.'
      : 'The patch names a place that the object does not have, so nothing was changed; read the object again.'
  return new Problem(code, detail, { errors })
}
