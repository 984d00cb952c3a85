/** The entities of AuthZEN as a request names them: read and bounded here, once. Unknown members are ignored. */
import { type FieldFault, Problem } from '../../base/problems/problem.ts'
import { faultsOfEvaluation, faultsOfEvaluations, hasItems } from '../../resources/built-in/access.ts'
import type { Json } from '../../resources/resource.ts'

export type Members = Readonly<Record<string, Json>>

export interface SubjectEntity {
  readonly type: string
  readonly id: string
  readonly properties?: Members
}

export interface ResourceEntity {
  readonly type: string
  readonly id: string
  readonly properties?: Members
}

export interface ActionEntity {
  readonly name: string
  readonly properties?: Members & { readonly fields?: readonly string[]; readonly body?: Members }
}

export type ContextMembers = Members & { readonly fields?: readonly string[] }

/** May this subject do this action on this object? */
export interface Evaluation {
  readonly subject: SubjectEntity
  readonly resource: ResourceEntity
  readonly action: ActionEntity
  readonly context?: ContextMembers
}

export type Semantic = 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit'

/** An item that isn't an evaluation, with its faults. */
export interface FaultyItem {
  readonly faults: readonly FieldFault[]
}

export interface Evaluations {
  readonly semantic: Semantic
  /** Each with its defaults. */
  readonly items: readonly (Evaluation | FaultyItem)[]
}

/** Throws Problem invalid-body, which names each faulty member. */
export function refuseFaultyMembers(errors: readonly [FieldFault]): never
export function refuseFaultyMembers(errors: readonly FieldFault[]): void
export function refuseFaultyMembers(errors: readonly FieldFault[]): void {
  if (errors.length === 0) return
  throw new Problem('invalid-body', 'The body does not fit the schema; correct the members in `errors`.', { errors })
}

/** Throws Problem invalid-body. */
export function readEvaluation(body: Members): Evaluation {
  refuseFaultyMembers(faultsOfEvaluation(body))
  return body as unknown as Evaluation
}

/** A single evaluation where the body has no items. Throws Problem invalid-body. */
export function readEvaluations(body: Members): Evaluation | Evaluations {
  refuseFaultyMembers(faultsOfEvaluations(body))
  const { evaluations = [], options, subject, resource, action, context } = body as BatchBody
  if (!hasItems(body)) return body as unknown as Evaluation
  const defaults = { subject, resource, action, context }
  const faultsOf = memberFaultsOnce()
  return {
    semantic: options?.evaluations_semantic ?? 'execute_all',
    items: evaluations.map((item) => readItem(defaults, item, faultsOf)),
  }
}

interface BatchBody extends Partial<Record<keyof Evaluation, Json>> {
  readonly evaluations?: readonly Members[]
  readonly options?: { readonly evaluations_semantic?: Semantic }
}

type Defaults = Readonly<Record<keyof Evaluation, Json | undefined>>

/** A member of an item replaces the default as a whole. */
function readItem(defaults: Defaults, item: Members, faultsOf: typeof faultsOfEvaluation): Evaluation | FaultyItem {
  const {
    subject = defaults.subject,
    resource = defaults.resource,
    action = defaults.action,
    context = defaults.context,
  } = item
  const whole = {
    ...(subject === undefined ? {} : { subject }),
    ...(resource === undefined ? {} : { resource }),
    ...(action === undefined ? {} : { action }),
    ...(context === undefined ? {} : { context }),
  }
  const faults = faultsOf(whole)
  return faults.length > 0 ? { faults } : (whole as unknown as Evaluation)
}

const MEMBERS: readonly (keyof Evaluation)[] = ['subject', 'resource', 'action', 'context']

/** `faultsOfEvaluation`, where a member that many items share is checked once. */
function memberFaultsOnce(): typeof faultsOfEvaluation {
  const known = new Map<string, Map<Json | undefined, readonly FieldFault[]>>(MEMBERS.map((name) => [name, new Map()]))
  return (evaluation) =>
    MEMBERS.flatMap((name) => {
      const value = (evaluation as Members)[name]
      const find = () =>
        faultsOfEvaluation(value === undefined ? {} : { [name]: value }).filter(
          ({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`),
        )
      return known.get(name)?.getOrInsertComputed(value, find) ?? find()
    })
}

/** The fields that an evaluation asks about; undefined if it asks about the whole object. */
export function fieldsAsked({
  action,
  context,
}: Pick<Evaluation, 'action' | 'context'>): readonly string[] | undefined {
  const named = [...(action.properties?.fields ?? []), ...(context?.fields ?? [])]
  return named.length === 0 ? undefined : named
}
