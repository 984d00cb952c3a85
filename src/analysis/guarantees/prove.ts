/**
 * Proves guarantees: for each caller and action, the situations in which the rules grant something else than a guarantee
 * says. No situation is the proof.
 *
 * Callers with one subject, and those with a required role and one further subject, are enough (docs/decisions/0108).
 */

import { changesStored, columnOfRoles, operationsOf } from '../../decide/callers-and-routes.ts'
import type { Guarantee, Policy } from '../../decide/policy.ts'
import { comparedFields } from '../../decide/relations/all-kinds.ts'
import { endsOf, livingAt } from '../../decide/rules/rule-table.ts'
import { isAbout } from '../../decide/rules/terms.ts'
import type { Action, Resource, Resources } from '../../resources/resource.ts'
import { EVERYWHERE, NOWHERE, type Region, TooManyRegions } from '../regions.ts'
import { ResourceSpace, type SituationNames } from '../space.ts'
import { AskedRules, type GuaranteedCaller, isClients } from './asked-rules.ts'

export type GuaranteeAnswer =
  | { readonly kind: 'proven'; readonly cells: number }
  /** `breaks`: the smallest first. */
  | { readonly kind: 'broken'; readonly cells: number; readonly breaks: () => Generator<Break> }
  | { readonly kind: 'undecided'; readonly cells: number; readonly why: string }

/** A caller, an action and a situation in which a guarantee doesn't hold. */
export interface Break {
  readonly guarantee: Guarantee
  readonly caller: GuaranteedCaller
  readonly resource: Resource
  readonly action: Action
  /** What the method does. */
  readonly operation: string
  readonly situation: SituationNames
  /** The fields with which it breaks; `*` for an action without fields. Of an `always` without fields, none. */
  readonly fields: readonly string[]
  /** All fields that the caller is granted there. */
  readonly granted: readonly string[]
  /** The lines that allow it; of an `always`, those that deny it. */
  readonly lines: readonly number[]
  /** The time from which on it breaks, since rules end, in milliseconds since the epoch. */
  readonly from: number
}

/** Each end of a caller's rules is a policy of its own to prove. */
const MOST_ENDS = 200

/** More situations of one caller and action are not shown. */
const MOST_SITUATIONS = 24

/** Answers the guarantees of one policy. */
export class Prover {
  readonly #policy: Policy
  readonly #resources: Resources
  readonly #now: number
  readonly #spaces = new Map<string, ResourceSpace>()
  readonly #asked = new Map<string, AskedRules>()
  readonly #subjects = new Map<string, ReadonlySet<string>>()

  constructor(policy: Policy, resources: Resources, now: number) {
    this.#policy = policy
    this.#resources = resources
    this.#now = now
  }

  answer(guarantee: Guarantee): GuaranteeAnswer {
    const resource = this.#resources.byName.get(guarantee.resource)
    if (!resource) throw new Error(`the guarantee names the unknown resource ${guarantee.resource}`)
    try {
      return this.#answer(guarantee, resource)
    } catch (error) {
      if (!(error instanceof TooManyRegions || error instanceof TooManyEnds)) throw error
      return { kind: 'undecided', cells: 0, why: error.message }
    }
  }

  #answer(guarantee: Guarantee, resource: Resource): GuaranteeAnswer {
    const claims = guarantee.actions.flatMap((name) => {
      const action = resource.actions.get(name)
      return action ? this.#claimsAbout(guarantee, resource, action) : []
    })
    const cells = claims.reduce((sum, claim) => sum + claim.cells, 0)
    const broken = claims.filter((one) => one.broken !== NOWHERE)
    if (broken.length > 0) return { kind: 'broken', cells, breaks: () => breaksOf(broken) }
    const why = "no object and no request can be as it says, so it can't matter"
    return cells === 0 ? { kind: 'undecided', cells, why } : { kind: 'proven', cells }
  }

  /** Now, and after each end of a caller's rules that could break the guarantee. */
  #claimsAbout(guarantee: Guarantee, resource: Resource, action: Action): readonly GuaranteeClaim[] {
    const asked = this.#askedNow(resource, action)
    const callers = this.#callers(guarantee, asked)
    const now = claimsOn(guarantee, asked, callers)
    const later = callers.flatMap((caller) =>
      this.#askedLater(guarantee, asked, caller).flatMap((after) => claimsOn(guarantee, after, [caller])),
    )
    return [...now, ...later]
  }

  #askedNow(resource: Resource, action: Action): AskedRules {
    return this.#asked.getOrInsertComputed(JSON.stringify([resource.name, action.name]), () => {
      const space = this.#spaces.getOrInsertComputed(resource.name, () => new ResourceSpace(this.#policy, resource))
      const rules = this.#policy.rules.filter((rule) => isAbout(rule, { resource, action }))
      const living = livingAt({ ...this.#policy, rules }, this.#now)
      return new AskedRules(living, { resource, action, space, time: this.#now })
    })
  }

  /**
   * The end of an allow takes away, so it can break only an `always`; the end of a deny can break only a `never`. Throws
   * TooManyEnds.
   */
  #askedLater({ kind }: Guarantee, asked: AskedRules, caller: GuaranteedCaller): readonly AskedRules[] {
    const rules = asked.rulesOf(caller)
    const ends = endsOf(rules.filter(({ effect }) => effect === (kind === 'always' ? 'allow' : 'deny')))
    if (ends.length > MOST_ENDS) throw new TooManyEnds(asked, ends.length)
    const own = { ...this.#policy, rules }
    return ends.map((time) => new AskedRules(livingAt(own, time), { ...asked, time }))
  }

  /** Callers with the same rules once, those with fewer subjects first. */
  #callers({ subjects }: Guarantee, { named, profileOf }: AskedRules): readonly GuaranteedCaller[] {
    const roles = [...this.#policy.roles.keys()]
    const withRules = roles.filter((role) => !this.#subjectsOf(role).isDisjointFrom(named))
    const users = [...named].filter((name) => name.startsWith('user:'))
    const required = 'with' in subjects ? subjects.with : ['everyone']
    const isWanted = (one: GuaranteedCaller) =>
      'with' in subjects || !subjects.without.some((role) => one.subjects.has(role))
    const all = required.flatMap((name): readonly GuaranteedCaller[] => {
      if (name === 'anonymous') return [ANONYMOUS]
      const own = name === 'everyone' ? [] : [name]
      return [
        ...(name === 'everyone' ? [ANONYMOUS] : []),
        this.#callerOf(own),
        ...withRules.filter((role) => role !== name).map((role) => this.#callerOf([...own, role])),
        ...users.map((user) => this.#callerOf(own, user)),
      ]
    })
    const distinct = new Map<string, GuaranteedCaller>()
    for (const one of all.filter(isWanted).toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
      distinct.getOrInsertComputed(`${one.kind} ${profileOf(one)}`, () => one)
    }
    return [...distinct.values()]
  }

  #callerOf(roles: readonly string[], user?: string): GuaranteedCaller {
    const inherited = roles.flatMap((role) => [...this.#subjectsOf(role)])
    const subjects = new Set(['everyone', ...inherited, ...(user === undefined ? [] : [user])])
    return { kind: 'known', roles, ...(user !== undefined && { user }), subjects }
  }

  #subjectsOf(role: string): ReadonlySet<string> {
    return this.#subjects.getOrInsertComputed(role, () => columnOfRoles(this.#policy, [role]).subjects)
  }
}

const ANONYMOUS: GuaranteedCaller = { kind: 'anonymous', roles: [], subjects: new Set(['everyone', 'anonymous']) }

function sizeOf({ roles, user }: GuaranteedCaller): number {
  return roles.length + (user === undefined ? 0 : 1)
}

class TooManyEnds extends Error {
  constructor({ resource, action }: AskedRules, ends: number) {
    super(
      `the rules about \`${action.name}\` of \`${resource.name}\` end at ${ends} times, and ${MOST_ENDS} can be decided`,
    )
  }
}

// ---- What a guarantee says about one action -------------------------------------------------------------------------

/** What a guarantee says about one action of callers with or without credentials, by one kind of method. */
interface GuaranteeStatement {
  readonly guarantee: Guarantee
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
interface GuaranteeClaim extends GuaranteeStatement {
  readonly caller: GuaranteedCaller
  readonly broken: Region
}

function claimsOn(
  guarantee: Guarantee,
  asked: AskedRules,
  callers: readonly GuaranteedCaller[],
): readonly GuaranteeClaim[] {
  const kinds = new Set(callers.map(({ kind }) => kind))
  const statements = operationsOf(asked.resource, asked.action.name).flatMap((operation) =>
    [...kinds].map((kind) => statementOf(guarantee, asked, operation, kind)),
  )
  const brokenFor = guarantee.kind === 'never' ? brokenNever : brokenAlways
  return callers.flatMap((caller) =>
    statements
      .filter(({ kind }) => kind === caller.kind)
      .map((statement) => ({ ...statement, caller, broken: brokenFor(statement, caller) })),
  )
}

function statementOf(
  guarantee: Guarantee,
  asked: AskedRules,
  operation: string,
  kind: GuaranteedCaller['kind'],
): GuaranteeStatement {
  const { space, resource } = asked
  const { regions } = space
  const { fields } = guarantee
  const ofTerms = regionOfTerms(guarantee, asked)
  // Nothing leads to an object that isn't there yet, and nobody has its id.
  const ofId = operation === 'create' ? space.leaves.filter((leaf) => comparedFields(leaf)[0] === 'id') : []
  // An always about some fields is about writes that change no others.
  const isOnSome = guarantee.kind === 'always' && fields && changesStored(operation)
  const where = regions.all([
    space.possibleSituations,
    changesStored(operation) ? space.second : space.first,
    kind === 'anonymous' ? space.withoutCredentials : EVERYWHERE,
    ...ofId.map((leaf) => regions.not(space.ofLeaf(leaf).stored)),
    guarantee.kind === 'never' ? regions.not(ofTerms) : ofTerms,
    isOnSome ? space.whereKept((leaf) => !comparedFields(leaf).some((name) => fields.includes(name))) : EVERYWHERE,
  ])
  // Nobody writes what is the server's, whatever is granted.
  const isWrite = operation === 'create' || changesStored(operation)
  const about = fields?.filter((name) => !isWrite || isClients(resource, name)) ?? asked.fields
  const cells = asked.count(where, guarantee, operation)
  return { guarantee, asked, operation, kind, where, cells, fields: about }
}

/** Where the line `p, …, TERMS, *, allow` would allow the action. */
function regionOfTerms({ terms, kind }: Guarantee, { space, action }: AskedRules): Region {
  if (!terms) return kind === 'never' ? NOWHERE : EVERYWHERE
  const allow = { line: 0, subject: '', resource: '', actions: [], views: ['*'], effect: 'allow' } as const
  return space.extentsOf(action)({ ...allow, ...terms })?.region ?? NOWHERE
}

function brokenNever({ asked, where, fields, operation }: GuaranteeStatement, caller: GuaranteedCaller): Region {
  const { regions } = asked.space
  const granted = regions.both(where, regions.any(asked.granted(fields, caller)))
  return granted === NOWHERE ? NOWHERE : regions.both(granted, asked.writable(caller, operation))
}

function brokenAlways({ guarantee, asked, where, fields }: GuaranteeStatement, caller: GuaranteedCaller): Region {
  const { regions } = asked.space
  const granted = asked.granted(fields, caller)
  return regions.minus(where, guarantee.fields ? regions.all(granted) : regions.any(granted))
}

// ---- Where it breaks ------------------------------------------------------------------------------------------------

function* breaksOf(claims: readonly GuaranteeClaim[]): Generator<Break> {
  const sized = claims.map((one) => ({ one, size: one.asked.space.regions.smallest(one.broken).size }))
  const sorted = sized.toSorted((a, b) => sizeOf(a.one.caller) - sizeOf(b.one.caller) || a.size - b.size)
  for (const { one } of sorted) yield* situationsOf(one)
}

function* situationsOf({ guarantee, asked, caller, operation, broken }: GuaranteeClaim): Generator<Break> {
  const { space, resource, action, fields: all, time } = asked
  const { regions } = space
  const variables = asked.variables(new Set([...space.leaves.map(({ name }) => name), ...space.conditions]), operation)
  const granted = asked.granted(all, caller)
  const isNever = guarantee.kind === 'never'
  const asks = guarantee.fields ?? (isNever ? all : [])
  let left = broken
  for (let i = 0; i < MOST_SITUATIONS && left !== NOWHERE; i++) {
    const holding = regions.smallest(left)
    left = regions.minus(left, regions.exactly(holding, variables))
    const has = all.filter((_, bit) => regions.has(granted[bit] ?? NOWHERE, holding))
    const fields = asks.filter((name) => has.includes(name) === isNever)
    const mask = fields.reduce((bits, name) => bits | asked.bitOf(name), 0n)
    const matching = matchingIn(asked, caller, holding).filter(({ effect }) => effect === (isNever ? 'allow' : 'deny'))
    yield {
      guarantee,
      caller,
      resource,
      action,
      operation,
      situation: space.situationOf(holding),
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
