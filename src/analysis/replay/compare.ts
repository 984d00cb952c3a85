/** Compares a record with the decision of another policy: would its request have been answered differently? */

import { isDeepStrictEqual } from 'node:util'
import { stageOf } from '../../base/problems/catalogue.ts'
import type { Condition } from '../../decide/conditions/condition.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { EVERYWHERE, NOWHERE, type Region, Regions, TooManyRegions } from '../regions.ts'
import type { AllowedAgain, Decided, RefusedAgain } from './decide-again.ts'
import { shownFields } from './recorded.ts'

/**
 * `refused-now`: allowed then. `allowed-now`: refused then. `perhaps-allowed-now`: refused then, and the data that the
 * new policy would look at next was never read. `refused-otherwise`: another status, or other fields at fault.
 * `other-objects`: a list whose filter differs. `other-fields`: the shown fields differ.
 */
export const CHANGES = [
  'refused-now',
  'allowed-now',
  'perhaps-allowed-now',
  'refused-otherwise',
  'other-objects',
  'other-fields',
] as const

export type ReplayChange = (typeof CHANGES)[number]

export interface Difference {
  readonly change: ReplayChange
  /** The answer that the client got, as `200` or `403 forbidden`. */
  readonly was: string
  readonly becomes: string
  /** Lines of the new policy.csv that decide. */
  readonly lines: readonly number[]
  /** For other objects of a list: whether there are fewer or more, if that is proven. */
  readonly reach?: ListReach | undefined
  /** Fields refused or shown, then and now, if they are the difference. */
  readonly fields?: { readonly was: readonly string[]; readonly becomes: readonly string[] }
}

/** Undefined if the policy would answer the same. `again` is neither `unconcerned` nor `undecidable`. */
export function compare(record: DecisionRecord, again: Decided): Difference | undefined {
  const refusedThen = wasRefusedByPolicy(record)
  const was = record.problem === undefined ? String(record.status) : `${record.status} ${record.problem}`
  switch (again.kind) {
    case 'further':
      return { change: 'perhaps-allowed-now', was, becomes: again.why, lines: [] }
    case 'allowed': {
      const { lines } = again.decision.evidence
      return refusedThen ? { change: 'allowed-now', was, becomes: 'allowed', lines } : compareShown(record, again, was)
    }
    case 'refused': {
      const becomes = `${again.status} ${again.problem}`
      if (record.problem === undefined)
        return { change: 'refused-now', was, becomes, lines: again.lines, ...atFault(again) }
      return compareRefusals(record, again, { was, becomes })
    }
  }
}

/** The policy refused a query that names fields if only the fields were at fault. */
export function wasRefusedByPolicy({ problem, fieldsRefused }: DecisionRecord): boolean {
  if (problem === 'invalid-query') return fieldsRefused !== undefined
  return problem !== undefined && stageOf(problem) === 'policy'
}

function atFault({ fieldsRefused }: RefusedAgain): Pick<Difference, 'fields'> {
  return fieldsRefused.length === 0 ? {} : { fields: { was: [], becomes: fieldsRefused } }
}

function compareRefusals(record: DecisionRecord, again: RefusedAgain, statuses: StatusChange): Difference | undefined {
  const fields = { was: (record.fieldsRefused ?? []).toSorted(), becomes: again.fieldsRefused.toSorted() }
  if (statuses.was === statuses.becomes && isDeepStrictEqual(fields.was, fields.becomes)) return undefined
  return { change: 'refused-otherwise', ...statuses, lines: again.lines, fields }
}

/** Allowed then and now: a read or a list may still show something else. */
function compareShown(
  { problem, facts }: DecisionRecord,
  { decision }: AllowedAgain,
  was: string,
): Difference | undefined {
  if (problem !== undefined || !(decision.kind === 'read' || decision.kind === 'list')) return undefined
  const { lines } = decision.evidence
  const statuses = { was, becomes: 'allowed', lines }
  if (decision.kind === 'list' && facts?.where && !isDeepStrictEqual(facts.where, decision.where)) {
    const reach = reachOf(facts.where, decision.where)
    return { change: 'other-objects', ...statuses, ...(reach && { reach }) }
  }
  if (!facts?.shown) return undefined
  const fields = { was: shownFields(facts, facts), becomes: shownFields(decision.evidence.facts, facts) }
  return isDeepStrictEqual(fields.was, fields.becomes) ? undefined : { change: 'other-fields', ...statuses, fields }
}

interface StatusChange {
  readonly was: string
  readonly becomes: string
}

// ---- Whether a list holds fewer or more objects under another filter.

type ListReach = 'narrower' | 'wider'

/** Undefined where neither filter is proven to lie within the other. */
export function reachOf(was: Condition, becomes: Condition): ListReach | undefined {
  const regions = new Regions('a list')
  const variables = new Map<string, number>()
  const fits = (text: string) => regions.where(variables.getOrInsertComputed(text, () => variables.size))
  const regionOf = (condition: Condition): Region => {
    switch (condition.kind) {
      case 'always':
        return EVERYWHERE
      case 'never':
        return NOWHERE
      case 'not':
        return regions.not(regionOf(condition.of))
      case 'all':
        return regions.all(condition.of.map(regionOf))
      case 'some':
        return regions.any(condition.of.map(regionOf))
      case 'holds':
        return regions.any(condition.values.map((value) => fits(JSON.stringify([condition.field, value]))))
      default:
        return fits(JSON.stringify(condition))
    }
  }
  try {
    const [before, after] = [regionOf(was), regionOf(becomes)]
    if (regions.isWithin(after, before)) return 'narrower'
    return regions.isWithin(before, after) ? 'wider' : undefined
  } catch (error) {
    if (error instanceof TooManyRegions) return undefined
    throw error
  }
}
