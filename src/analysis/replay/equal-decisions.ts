/**
 * Which recorded requests are decided alike by a policy and by every other that differs only in its rules and views. So a
 * million records need some hundreds of decisions. A decision compares the ids and values of a record only with one
 * another, and with the constants of relations: all others are exchanged for numbers.
 */

import { comparisonsIn, meets } from '../../decide/conditions/condition.ts'
import { isBlocked } from '../../decide/decide.ts'
import type { Policy } from '../../decide/policy.ts'
import { comparedAttributes, comparedFields, kindOf, leavesOf, stepOf } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { endsOf } from '../../decide/rules/rule-table.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import type { Blocked } from '../../policy/parse/parse-blocked.ts'
import type { Json } from '../../resources/resource.ts'
import { FactsMissing, recordedConditions } from './recorded.ts'

type Values = Readonly<Record<string, Json>>

/** By resource and field, the relations that look at this field alone, whoever asks. */
type LeavesByField = ReadonlyMap<string, ReadonlyMap<string, readonly Relation[]>>

export class EqualDecisions {
  readonly #policy: Policy
  readonly #blocked: Blocked
  readonly #ends: readonly number[]
  readonly #constants: ReadonlySet<Json>
  readonly #leaves: LeavesByField

  constructor(policy: Policy, blocked: Blocked) {
    this.#policy = policy
    this.#blocked = blocked
    this.#ends = endsOf(policy.rules)
    this.#constants = constantsOf(policy)
    this.#leaves = leavesByField(policy)
  }

  /** How many moments at which rules end are over. */
  spanOf(time: number): number {
    return this.#ends.length === 0 ? 0 : this.#ends.filter((end) => end <= time).length
  }

  /** Equal for requests that are decided alike. */
  keyOf(record: DecisionRecord): string {
    const { facts = {}, resource = '', subject, objectId, credential, asked, searched, expanded, parent } = record
    const now = Date.parse(record.time)
    const names = new Map<Json, number>()
    const nameOf = (value: Json): Json => {
      if (value === null || value === MASKED || this.#constants.has(value)) return value
      if (Array.isArray(value)) return value.map(nameOf)
      // `1` isn't "1".
      const text = typeof value === 'string' ? value : `\0${JSON.stringify(value)}`
      return { n: names.getOrInsertComputed(text, () => names.size) }
    }
    const about = this.#leaves.get(resource)
    const fieldValue = (field: string, value: Json): Json => {
      const leaves = about?.get(field)
      if (!leaves) return nameOf(value)
      const bits = leaves.map((leaf) =>
        meets(kindOf(leaf).condition(leaf, { valuesOf: NO_VALUES, now }), { [field]: value }),
      )
      return [nameOf(value), bits]
    }
    const valuesOf = (values: Values | undefined) =>
      values && Object.entries(values).map(([field, value]) => [field, fieldValue(field, value)])
    return JSON.stringify([
      [
        record.method,
        record.route,
        record.forwarded !== undefined,
        record.authentication,
        record.roles,
        record.rolesLost,
      ],
      [record.problem, record.status, record.fieldsRefused, record.cut, credential?.split(' ', 1)],
      subject === undefined ? null : nameOf(subject),
      objectId === undefined ? null : fieldValue('id', objectId),
      this.spanOf(now),
      subject !== undefined && isBlocked(this.#blocked, subject, now),
      this.#conditionsOf(record),
      facts.attributes && Object.entries(facts.attributes).map(([name, value]) => [name, nameOf(value)]),
      valuesOf(facts.object),
      valuesOf(facts.proposed),
      [facts.related, facts.relatedAfter, facts.definitions],
      [facts.changed, facts.named, facts.chosen, facts.read, facts.removed, facts.queried, facts.selected],
      facts.where !== undefined && comparisonsIn(facts.where).some(({ value }) => value === MASKED),
      asked?.map((one) => [one.resource, one.action, one.decision]),
      searched && [searched.resource, searched.found.length > 0],
      [parent?.resource, ...new Set(expanded?.map((one) => one.resource))],
    ])
  }

  /** For each condition of the policy, whether it held, or why the record doesn't tell. */
  #conditionsOf(record: DecisionRecord): readonly (boolean | string)[] {
    const { conditions } = this.#policy
    if (conditions.size === 0) return []
    const { authentication, credential } = record
    const caller = authentication === 'caller' ? { id: '', roles: [], claims: {}, credential } : undefined
    const holds = recordedConditions(record, { caller })
    return [...conditions.values()].map((condition) => {
      try {
        return holds(condition)
      } catch (error) {
        if (error instanceof FactsMissing) return error.message
        throw error
      }
    })
  }
}

const NO_VALUES = () => []

function leavesByField({ ownership }: Policy): LeavesByField {
  return new Map(
    [...ownership].map(([resource, { relations }]) => {
      const leaves = new Set([...relations.values()].flatMap(leavesOf))
      const alone = [...leaves].filter((leaf) => !stepOf(leaf) && comparedAttributes(leaf).length === 0)
      return [resource, Map.groupBy(alone, (leaf) => comparedFields(leaf)[0] ?? '')]
    }),
  )
}

/** What a caller's id or attribute may be equal to: constants of relations, and the ids of `user:` rules. */
function constantsOf({ ownership, rules }: Policy): ReadonlySet<Json> {
  const constants = new Set<Json>(rules.map(({ subject }) => subject.replace(/^user:/, '')))
  const collect = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) collect(part)
    else if (value !== undefined) constants.add(value as Json)
  }
  for (const { relations } of ownership.values()) for (const one of relations.values()) collect(one)
  return constants
}
