/** What becomes of one mutant: an expectation notices it, the parser refuses it, no request differs, or it survives. */

import { FileError, type Place } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { livingAt } from '../../../decide/rules/ends.ts'
import { parsePolicy } from '../../../policy/parse/parse-policy.ts'
import type { Resources } from '../../../resources/resource.ts'
import { compareRelations } from '../../diff/compare-relations.ts'
import { compareRouteViews } from '../../diff/compare-shown.ts'
import { compareDecisions } from '../../diff/decisions/compare-decisions.ts'
import type { Bench } from '../predict/bench.ts'
import { Grants } from '../predict/grants.ts'
import type { Stated } from '../predict/stated.ts'
import type { Mutant } from './mutant.ts'
import { probesOf } from './probes.ts'
import { findWitness, type Witness } from './witness.ts'
import { findByValues } from './witness-by-value.ts'

export type Verdict =
  | { readonly kind: 'killed'; readonly by: Place }
  | { readonly kind: 'invalid'; readonly why: string }
  /** By the diff of the two policies, or because all probes are answered alike. */
  | { readonly kind: 'equivalent'; readonly proof: 'diff' | 'probes' }
  | { readonly kind: 'survived'; readonly witness: Witness }

export interface Court extends Pick<Bench, 'ground' | 'samples' | 'resources' | 'grants'> {
  readonly stated: readonly Stated[]
}

/** A mutant's policy, and the first expectation that notices it. */
export interface Tried {
  readonly grants: Grants
  readonly noticed: Place | undefined
}

/** Or what the parser says of it. */
export function tryMutant(court: Court, mutant: Mutant): Tried | string {
  const parsed = parseMutant(court, mutant)
  if (typeof parsed === 'string') return parsed
  const grants = new Grants(parsed, court.ground.now)
  const covers = coverageOf(court.resources, mutant)
  const noticing = court.stated.find(({ resources, holds }) => [...resources].some(covers) && !holds(grants))
  return { grants, noticed: noticing?.place }
}

export function judgeMutant(court: Court, mutant: Mutant): Verdict {
  const tried = tryMutant(court, mutant)
  if (typeof tried === 'string') return { kind: 'invalid', why: tried }
  const { grants, noticed } = tried
  if (noticed) return { kind: 'killed', by: noticed }
  if (isSame(court, grants.policy)) return { kind: 'equivalent', proof: 'diff' }
  const pair = { before: court.grants, after: grants }
  const covers = coverageOf(court.resources, mutant)
  const probes = () => probesOf([court.grants.policy, grants.policy], court, covers)
  const witness = findWitness(court.ground, pair, probes()) ?? findByValues(court, pair, probes())
  return witness ? { kind: 'survived', witness } : { kind: 'equivalent', proof: 'probes' }
}

/** Whether the exact diff of decisions and relations finds nothing. */
function isSame({ grants, resources, ground }: Court, after: Policy): boolean {
  const policies = { before: grants.policy, after }
  const { now } = ground
  if (compareDecisions(policies, { resources, now }).length > 0) return false
  return [compareRelations, compareRouteViews].every((compare) => compare(policies, resources).length === 0)
}

/** The policy, or what the parser says of it. */
function parseMutant({ resources, grants, ground }: Court, { files, file }: Mutant): Policy | string {
  try {
    const policy = livingAt(parsePolicy(files, resources), ground.now)
    // The same relations are the same object, so that what was set up for them is found again.
    return file === 'ownership.yaml' ? policy : { ...policy, ownership: grants.policy.ownership }
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics[0]?.message ?? error.message
    throw error
  }
}

/** Whether a mistake can matter to a resource. */
function coverageOf({ byName }: Resources, { resource }: Mutant): (name: string) => boolean {
  if (resource === undefined) return () => true
  if (resource !== '*' && resource !== 'system/*') return (name) => name === resource
  return (name) => byName.get(name)?.builtIn === (resource === 'system/*')
}
