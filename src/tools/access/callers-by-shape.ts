/** Finds callers that the rules treat alike, apart from their own values. Each such group is decided once. */
import type { Caller } from '../../decide/caller.ts'
import { isComparable } from '../../decide/conditions/condition.ts'
import { askingOf } from '../../decide/grants/caller-grants.ts'
import type { DirectPolicy } from '../../decide/grants/direct.ts'
import type { Policy } from '../../decide/policy.ts'
import { comparedAttributes, valuesWhoeverAsks } from '../../decide/relations/all-kinds.ts'
import type { Scalar, StoredObject } from '../../resources/object.ts'

export interface CallerShape {
  /** Equal for two callers only if the rules say the same of both, but for `values`. */
  readonly key: string
  /** Those that the policy doesn't name, each once: rules can only compare them with fields and with each other. */
  readonly values: readonly Scalar[]
}

/** What rules can know of callers before an object is known. */
export class CallersByShape {
  readonly #snapshot: DirectPolicy
  readonly #now: number
  readonly #attributes: readonly string[]
  readonly #constants: ReadonlySet<Scalar>

  constructor({ ownership }: Pick<Policy, 'ownership'>, snapshot: DirectPolicy, now: number) {
    const relations = [...ownership.values()].flatMap((one) => [...one.relations.values()])
    this.#snapshot = snapshot
    this.#now = now
    this.#attributes = [...new Set(['id', ...relations.flatMap(comparedAttributes)])]
    this.#constants = new Set(relations.flatMap((one) => valuesWhoeverAsks(one)?.distinguishing ?? []))
  }

  shapeOf(caller: Caller, record: StoredObject | undefined): CallerShape {
    const { names, lost = [] } = this.#snapshot.subjectOf(caller)
    const { valuesOf } = askingOf(caller, record, this.#now)
    const places = new Map<Scalar, number>()
    const shapeOf = (value: Scalar) => {
      const isPlain = typeof value !== 'string' || !isComparable(value) || this.#constants.has(value)
      return isPlain ? [value] : places.getOrInsertComputed(value, () => places.size)
    }
    const held = this.#attributes.map((name) => valuesOf(name).map(shapeOf))
    return { key: JSON.stringify([names, lost, caller.credential !== undefined, held]), values: [...places.keys()] }
  }
}
