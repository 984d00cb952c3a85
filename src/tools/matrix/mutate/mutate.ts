/** All mutants of a policy, judged one by one. */
import { setImmediate } from 'node:timers/promises'
import type { Policy } from '../../../decide/policy.ts'
import { isScalar } from '../../../resources/object.ts'
import type { Resources } from '../../../resources/resource.ts'
import { ToolError } from '../../load-policy.ts'
import { surveyCells } from '../cells/survey.ts'
import { statementsOf } from '../predict/expectations-met.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { judgeMutant, type Verdict } from './judge-mutant.ts'
import {
  type Mutant,
  mutateLinks,
  mutateRules,
  mutateVocabulary,
  type Source,
  type ValuesOf,
  vocabularyOf,
} from './mutants.ts'
import type { Operator } from './operators.ts'

export interface Judged {
  readonly mutant: Mutant
  readonly verdict: Verdict
}

export interface Mutation {
  readonly judged: readonly Judged[]
  /** How many expectations the current policy doesn't meet; they notice nothing. */
  readonly unmet: number
  /** How many cases can't be predicted; they notice nothing. */
  readonly unpredictable: number
  /** How many cells can't be asked; no expectation can notice a mistake there. */
  readonly unasked: number
}

interface Options {
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
  /** The resources that mistakes are judged on; empty for all. */
  readonly resources?: readonly string[]
  readonly observe: (done: number, of: number) => void
}

/** Lets the program do other work between mutants, such as ending at Ctrl-C. Throws ToolError for an unknown resource. */
export async function mutate(
  suite: PredictedSuite,
  { only, resources: names = [], observe }: Options,
): Promise<Mutation> {
  const { files, resources, samples, evaluated } = suite
  const about = aboutOf(resources, names)
  const source = { files, resources }
  const mutants = makeMutants(source, evaluated.policy, {
    only,
    valuesOf: (resource, field) => (samples.get(resource.name)?.values.get(field) ?? []).filter(isScalar),
  }).filter(({ resource }) => !about || concerns(resources, about, resource))
  observe(0, mutants.length)
  const { met, unmet, unpredictable } = await statementsOf(suite)
  const judged: Judged[] = []
  for (const mutant of mutants) {
    await setImmediate()
    judged.push({ mutant, verdict: await judgeMutant({ ...suite, stated: met, about }, mutant) })
    observe(judged.length, mutants.length)
  }
  const { unasked } = await surveyCells(suite, ({ resource }) => about?.has(resource.name) ?? true)
  return { judged, unmet, unpredictable, unasked: unasked.length }
}

function aboutOf({ byName }: Resources, names: readonly string[]): ReadonlySet<string> | undefined {
  const unknown = names.find((name) => !byName.has(name))
  if (unknown !== undefined) {
    const known = [...byName.keys()].join(', ')
    throw new ToolError(`there is no resource \`${unknown}\`: write one of ${known}`)
  }
  return names.length === 0 ? undefined : new Set(names)
}

/** Whether a mistake in a line about `resource` (undefined for any) can matter to one of these. */
function concerns({ byName }: Resources, about: ReadonlySet<string>, resource: string | undefined): boolean {
  if (resource === undefined || about.has(resource)) return true
  const isCovered = (name: string) => resource === (byName.get(name)?.builtIn ? 'system/*' : '*')
  return [...about].some(isCovered)
}

export interface Wanted {
  readonly valuesOf: ValuesOf
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
}

/**
 * In the order of the files' lines: the same policy has the same mutants in the same order. No expectation can notice a
 * mistake about a resource that is kept elsewhere.
 */
export function makeMutants(source: Source, policy: Policy, { valuesOf, only }: Wanted): readonly Mutant[] {
  const vocabulary = vocabularyOf(policy)
  return [
    ...mutateRules(source, vocabulary),
    ...mutateLinks(source, vocabulary),
    ...mutateVocabulary(source, policy, valuesOf),
  ]
    .filter(({ operator }) => only?.has(operator) ?? true)
    .filter(({ resource = '' }) => !source.resources.byName.get(resource)?.external)
}

/** The killed mutants, in percent of those that aren't proven to change no decision. */
export function scoreOf({ judged }: Mutation): number {
  const count = (kind: Verdict['kind']) => judged.filter(({ verdict }) => verdict.kind === kind).length
  const noticeable = count('killed') + count('survived') + count('not-found')
  return noticeable === 0 ? 100 : (100 * count('killed')) / noticeable
}
