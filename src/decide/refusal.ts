/** Refusals as data: which check refused, and why. */
import type { ProblemCode } from '../base/problems/catalogue.ts'
import { type FieldFault, Untraced } from '../base/problems/problem.ts'
import type { Evidence } from './evidence.ts'

/**
 * The checks, in their order. `blocked`: blocked.txt names the caller. `own-record`: the path shows the caller's own
 * record, or a command writes the caller's id, and there are no credentials. `role`: no object could be allowed. `missing`: there is no such object. `object`: not
 * allowed on this object, or on the object after the write. `concealed`: the same, but the caller must not learn that
 * the object exists. `write`, `read`: these fields aren't allowed. `schema`, `size`: the policy permits it, but the
 * object doesn't fit. `roles-apart`: likewise, but the person would have roles that guarantees keep apart.
 */
type Check =
  | 'blocked'
  | 'own-record'
  | 'role'
  | 'missing'
  | 'object'
  | 'concealed'
  | 'write'
  | 'read'
  | 'schema'
  | 'size'
  | 'roles-apart'

/** `maxAge` in seconds; `acr`: one of these authentication context classes. */
export interface StepUp {
  /** The names of the conditions that must hold. */
  readonly conditions: readonly string[]
  readonly maxAge?: number
  readonly acr?: readonly string[]
}

export interface Refusal {
  readonly kind: 'refused'
  readonly check: Check
  /** Undefined if no rule was asked, and for an object that doesn't exist. */
  readonly evidence?: Evidence
  /** Of `schema`. */
  readonly faults?: readonly FieldFault[]
  /** The sign-in with which the same check would pass: RFC 9470. */
  readonly stepUp?: StepUp
  /** Of `size`: the most that an object may have. */
  readonly limitBytes?: number
  /** Of `roles-apart`: the roles that the person would have together. */
  readonly roles?: readonly string[]
}

/** Each check's problem, for a caller with credentials and for one without. */
const PROBLEMS: Readonly<Record<Check, { readonly caller: ProblemCode; readonly anonymous: ProblemCode }>> = {
  blocked: same('blocked'),
  'own-record': { caller: 'forbidden', anonymous: 'credentials-missing' },
  role: { caller: 'forbidden', anonymous: 'credentials-missing' },
  missing: same('object-not-found'),
  object: { caller: 'forbidden', anonymous: 'credentials-missing' },
  concealed: same('object-not-found'),
  write: { caller: 'field-forbidden', anonymous: 'credentials-missing' },
  read: { caller: 'field-forbidden', anonymous: 'credentials-missing' },
  schema: same('invalid-body'),
  size: same('object-too-large'),
  'roles-apart': same('roles-apart'),
}

function same(code: ProblemCode): { readonly caller: ProblemCode; readonly anonymous: ProblemCode } {
  return { caller: code, anonymous: code }
}

/** The problem that a client gets for each check; CATALOGUE gives each code its status. */
export function problemCodeOf(
  { check, stepUp }: Pick<Refusal, 'check' | 'stepUp'>,
  caller: 'caller' | 'anonymous',
): ProblemCode {
  return stepUp && caller === 'caller' ? 'step-up-required' : PROBLEMS[check][caller]
}

export function refusalBy(check: Check, more: Omit<Refusal, 'kind' | 'check'> = {}): Refusal {
  return { kind: 'refused', check, ...more }
}

/** A refusal on its way to the problem boundary. */
export class Refused extends Untraced {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(`refused: ${refusal.check}`)
    this.name = 'Refused'
    this.refusal = refusal
  }
}

/** Throws Refused for a refusal. */
export function orRefuse<T>(result: T | Refusal): Exclude<T, Refusal> {
  if (isRefusal(result)) throw new Refused(result)
  return result as Exclude<T, Refusal>
}

export function isRefusal(result: unknown): result is Refusal {
  return typeof result === 'object' && result !== null && 'kind' in result && result.kind === 'refused'
}
