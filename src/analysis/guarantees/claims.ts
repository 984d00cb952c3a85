/**
 * What a guarantee says about one action of one caller, and where the rules grant something else. No such situation is
 * the proof.
 */

import { changesStored, operationsOf } from '../../decide/callers-and-routes.ts'
import type { Guarantee, GuaranteedAct } from '../../decide/policy.ts'
import { comparedFields } from '../../decide/relations/all-kinds.ts'
import type { Action, Resource } from '../../resources/resource.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../regions.ts'
import type { SituationNames } from '../space.ts'
import { type AllowsOf, type AskedRules, type GuaranteedCaller, isClients, sizeOf } from './asked-rules.ts'

/** What a guarantee says that callers can't do, or can. */
export type ClaimedAct = GuaranteedAct & Pick<Guarantee, 'kind'>

/** A caller, an action and a situation in which a guarantee doesn't hold. */
export interface Break {
  readonly act: ClaimedAct
  readonly caller: GuaranteedCaller
  readonly resource: Resource
  readonly action: Action
  /** What the method does. */
  readonly operation: string
  readonly situation: SituationNames
  /** The same, as variables of the space. */
  readonly holding: ReadonlySet<number>
  /** The fields with which it breaks; `*` for an action without fields. Of an `always` without fields, none. */
  readonly fields: readonly string[]
  /** All fields that the caller is granted there. */
  readonly granted: readonly string[]
  /** The lines that allow it; of an `always`, those that deny it. */
  readonly lines: readonly number[]
  /** The time from which on it breaks, since rules end, in milliseconds since the epoch. */
  readonly from: number
}

/** More situations of one caller and action are not shown. */
const MOST_SITUATIONS = 24

/** What a guarantee says about one action of callers with or without credentials, by one kind of method. */
export interface ActStatement {
  readonly act: ClaimedAct
  readonly asked: AskedRules
  readonly operation: string
  readonly kind: GuaranteedCaller['kind']
  /** Where it says something, and how many cells that are. */
  readonly where: Region
  readonly cells: number
  /** The fields that it is about. */
  readonly fields: readonly string[]
}

/** The same of one caller, and where the rules grant something else. */
export interface ActClaim extends ActStatement {
  readonly caller: GuaranteedCaller
  readonly broken: Region
}

/** What a guarantee says about an action, and the rules about it. */
export interface AskedAct {
  readonly act: ClaimedAct
  readonly statements: readonly ActStatement[]
  /** The rules now. */
  readonly asked: AskedRules
  /** Without the denies that end: at no time a caller is granted more. */
  readonly lasting: AskedRules
}

export function statementsOn(act: ClaimedAct, asked: AskedRules): readonly ActStatement[] {
  return operationsOf(asked.resource, asked.action.name).flatMap((operation) =>
    (['anonymous', 'known'] as const).map((kind) => statementOf(act, asked, operation, kind)),
  )
}

/** `asked`: the rules at another time than those of the statement. */
export function claimOf(statement: ActStatement, caller: GuaranteedCaller, asked: AskedRules): ActClaim {
  const claim = { ...statement, asked }
  const broken = statement.act.kind === 'always' ? whereRefused(claim, caller) : whereDone(claim, caller)
  return { ...claim, caller, broken }
}

function statementOf(
  act: ClaimedAct,
  asked: AskedRules,
  operation: string,
  kind: GuaranteedCaller['kind'],
): ActStatement {
  const { space, resource } = asked
  const { regions } = space
  const { fields } = act
  const ofTerms = regionOfTerms(act, asked)
  // Nothing leads to an object that isn't there yet, and nobody has its id.
  const ofId = operation === 'create' ? space.leaves.filter((leaf) => comparedFields(leaf)[0] === 'id') : []
  // An always about some fields is about writes that change no others.
  const isOnSome = act.kind === 'always' && fields && changesStored(operation)
  const where = regions.all([
    space.possibleSituations,
    changesStored(operation) ? space.second : space.first,
    kind === 'anonymous' ? space.withoutCredentials : EVERYWHERE,
    ...ofId.map((leaf) => regions.not(space.ofLeaf(leaf).stored)),
    act.kind === 'never' ? regions.not(ofTerms) : ofTerms,
    isOnSome ? space.whereKept((leaf) => !comparedFields(leaf).some((name) => fields.includes(name))) : EVERYWHERE,
  ])
  // Nobody writes what is the server's, whatever is granted.
  const isWrite = operation === 'create' || changesStored(operation)
  const about = fields?.filter((name) => !isWrite || isClients(resource, name)) ?? asked.fields
  const cells = asked.count(where, act, operation)
  return { act, asked, operation, kind, where, cells, fields: about }
}

/** Where the line `p, …, TERMS, *, allow` would allow the action. */
function regionOfTerms({ terms, kind }: ClaimedAct, { space, action }: AskedRules): Region {
  if (!terms) return kind === 'never' ? NOWHERE : EVERYWHERE
  const allow = { line: 0, subject: '', resource: '', actions: [], views: ['*'], effect: 'allow' } as const
  return space.extentsOf(action)({ ...allow, ...terms })?.region ?? NOWHERE
}

/** Where an act can be done. */
export interface ActPlace {
  readonly statement: ActStatement
  readonly region: Region
}

/** At any time. */
export function whereIn(acts: readonly AskedAct[], caller: GuaranteedCaller, counting: Counting): readonly ActPlace[] {
  return acts.flatMap(({ statements, lasting }) =>
    statements.flatMap((statement) => {
      if (statement.kind !== caller.kind) return []
      const region = whereDone({ ...statement, asked: lasting }, caller, counting)
      return region === NOWHERE ? [] : [{ statement, region }]
    }),
  )
}

/** Whose allows count for the act itself, and for what must be written with it. */
export interface Counting {
  readonly act: AllowsOf
  readonly written: AllowsOf
}

/** Whatever may be written by everybody together may be written with the act. */
export const WITH_WRITERS: Counting = { act: 'caller', written: 'everybody' }

/** Where the caller can do it. */
function whereDone(
  { asked, where, fields, operation }: ActStatement,
  caller: GuaranteedCaller,
  counting: Counting = { act: 'caller', written: 'caller' },
): Region {
  const { regions } = asked.space
  const granted = regions.both(where, regions.any(asked.granted(fields, caller, counting.act)))
  return granted === NOWHERE ? NOWHERE : regions.both(granted, asked.writable(caller, operation, counting.written))
}

/** Where the caller can't do it. */
function whereRefused({ act, asked, where, fields }: ActStatement, caller: GuaranteedCaller): Region {
  const { regions } = asked.space
  const granted = asked.granted(fields, caller)
  return regions.minus(where, act.fields ? regions.all(granted) : regions.any(granted))
}

// ---- Where it breaks ------------------------------------------------------------------------------------------------

/** The smallest first. */
export function* breaksOf(claims: readonly ActClaim[]): Generator<Break> {
  const sized = claims.map((one) => ({ one, size: one.asked.space.regions.smallest(one.broken).size }))
  const sorted = sized.toSorted((a, b) => sizeOf(a.one.caller) - sizeOf(b.one.caller) || a.size - b.size)
  for (const { one } of sorted) yield* situationsOf(one)
}

export function* situationsOf({ act, asked, caller, operation, broken }: ActClaim): Generator<Break> {
  const { space, resource, action, fields: all, time } = asked
  const { regions } = space
  const variables = asked.variables(new Set([...space.leaves.map(({ name }) => name), ...space.conditions]), operation)
  const granted = asked.granted(all, caller)
  const isDone = act.kind !== 'always'
  const asks = act.fields ?? (isDone ? all : [])
  let left = broken
  for (let i = 0; i < MOST_SITUATIONS && left !== NOWHERE; i++) {
    const holding = regions.smallest(left)
    left = regions.minus(left, regions.exactly(holding, variables))
    const has = all.filter((_, bit) => regions.has(granted[bit] ?? NOWHERE, holding))
    const fields = asks.filter((name) => has.includes(name) === isDone)
    const mask = fields.reduce((bits, name) => bits | asked.bitOf(name), 0n)
    const matching = matchingIn(asked, caller, holding).filter(({ effect }) => effect === (isDone ? 'allow' : 'deny'))
    yield {
      act,
      caller,
      resource,
      action,
      operation,
      situation: space.situationOf(holding),
      holding,
      fields,
      granted: has,
      lines: matching.flatMap((rule) => (mask === 0n || (rule.mask & mask) !== 0n ? [rule.line] : [])),
      from: time,
    }
  }
}

/** The rules of the caller that match in the situation. */
function matchingIn(asked: AskedRules, caller: GuaranteedCaller, holding: ReadonlySet<number>) {
  const matching = asked.rulesOf(caller).flatMap((rule) => {
    const placed = asked.rules.placed(rule)
    const { line, effect } = rule
    return placed && asked.space.regions.has(placed.region, holding) ? [{ line, effect, mask: placed.fields }] : []
  })
  return matching.toSorted((a, b) => a.line - b.line)
}
