/**
 * Proves guarantees: for each caller and action, the situations in which the rules grant something else than a guarantee
 * says. No situation is the proof.
 */

import { commandByAction, createRoute } from '../../decide/callers-and-routes.ts'
import type { ApartGuarantee, GrantGuarantee, Guarantee, Policy } from '../../decide/policy.ts'
import { filledFields } from '../../decide/relations/ownership.ts'
import { endsOf, livingAt } from '../../decide/rules/rule-table.ts'
import { coversResource, performs } from '../../decide/rules/terms.ts'
import type { Action, Resource, Resources } from '../../resources/resource.ts'
import { NOWHERE, TooManyRegions } from '../regions.ts'
import { decisionsOf, ResourceSpace } from '../space.ts'
import { breaksOfTwo, type KeptFacts, keptFacts } from './apart.ts'
import { AskedRules, type GuaranteedCaller } from './asked-rules.ts'
import { Callers, TooManyCallers, withWriters } from './callers.ts'
import {
  type ActClaim,
  type AskedAct,
  type Break,
  breaksOf,
  type ClaimedAct,
  claimOf,
  statementsOn,
  WITH_WRITERS,
  whereIn,
} from './claims.ts'

export type GuaranteeAnswer =
  | { readonly kind: 'proven'; readonly cells: number }
  /** `breaks`: the smallest first. */
  | { readonly kind: 'broken'; readonly cells: number; readonly breaks: () => IteratorObject<Breaking, undefined> }
  | { readonly kind: 'undecided'; readonly cells: number; readonly why: string }

/** What one caller does or is refused: an act, or both of an `apart`, in this order. */
export interface Breaking {
  readonly acts: readonly [Break, ...Break[]]
  /** For two acts on one object: the fields that nobody can have changed between them. */
  readonly kept?: ReadonlySet<string>
}

/** Each end of a caller's rules is a policy of its own to prove. */
const MOST_ENDS = 200

const CANT_MATTER = "no object and no request can be as it says, so it can't matter"

const EVERYBODY = { without: [] }

/** Answers the guarantees of one policy. */
export class Prover {
  readonly #policy: Policy
  readonly #resources: Resources
  readonly #now: number
  readonly #callers: Callers
  readonly #spaces = new Map<string, ResourceSpace>()
  readonly #kept = new Map<string, KeptFacts>()
  readonly #rules = new Map<string, Pick<AskedAct, 'asked' | 'lasting'>>()

  constructor(policy: Policy, resources: Resources, now: number) {
    this.#policy = policy
    this.#resources = resources
    this.#now = now
    this.#callers = new Callers(policy)
  }

  answer(guarantee: Guarantee): GuaranteeAnswer {
    try {
      return guarantee.kind === 'apart' ? this.#answerApart(guarantee) : this.#answerGrants(guarantee)
    } catch (error) {
      const isBound = [TooManyRegions, TooManyEnds, TooManyCallers, CreatesUndecided].some(
        (kind) => error instanceof kind,
      )
      if (!isBound) throw error
      return { kind: 'undecided', cells: 0, why: (error as Error).message }
    }
  }

  #answerGrants(guarantee: GrantGuarantee): GuaranteeAnswer {
    const claims = this.#asked(guarantee).flatMap((one) => this.#claimsAbout(one))
    const cells = claims.reduce((sum, claim) => sum + claim.cells, 0)
    const broken = claims.filter((one) => one.broken !== NOWHERE)
    if (broken.length > 0) {
      return { kind: 'broken', cells, breaks: () => breaksOf(broken).map((one): Breaking => ({ acts: [one] })) }
    }
    return cells === 0 ? { kind: 'undecided', cells, why: CANT_MATTER } : { kind: 'proven', cells }
  }

  #answerApart({ acts, anywhere }: ApartGuarantee): GuaranteeAnswer {
    const [first, second] = acts.map((act) => this.#asked({ ...act, kind: 'apart' }))
    if (!first || !second) throw new Error('an `apart` has two acts')
    const [one = 0, other = 0] = [first, second].map((some) => some.reduce((sum, act) => sum + this.#cellsOf(act), 0))
    const cells = one + other
    if (one === 0 || other === 0) return { kind: 'undecided', cells, why: CANT_MATTER }
    const kept = anywhere ? undefined : this.#keptBy(first)
    const claimsOf = (act: AskedAct, caller: GuaranteedCaller) => this.#claimsOf(act, caller)
    const question = { acts: [first, second], callers: this.#callers, kept, claimsOf } as const
    if (breaksOfTwo(question).next().done) return { kind: 'proven', cells }
    const breaking = (pair: readonly [Break, Break]): Breaking => ({ acts: pair, ...(kept && { kept: kept.fields }) })
    return { kind: 'broken', cells, breaks: () => breaksOfTwo(question).map(breaking) }
  }

  #cellsOf({ act, asked, statements }: AskedAct): number {
    const kinds = this.#callers.alone(act.subjects, asked).map(({ kind }) => kind)
    const cellsFor = (kind: string) => statements.reduce((sum, one) => sum + (one.kind === kind ? one.cells : 0), 0)
    return kinds.reduce((sum, kind) => sum + cellsFor(kind), 0)
  }

  #keptBy([one]: readonly AskedAct[]): KeptFacts | undefined {
    if (!one) return undefined
    const { resource, space } = one.asked
    return this.#kept.getOrInsertComputed(resource.name, () => {
      const changing = [...resource.actions.values()].filter((action) => decisionsOf(resource, action).changes)
      const rules = changing.map((action) => this.#rulesAbout(resource, action).lasting)
      return keptFacts(
        space,
        resource,
        rules.map((asked) => ({ asked, callers: this.#callers.alone(EVERYBODY, asked) })),
      )
    })
  }

  #asked(act: ClaimedAct): readonly AskedAct[] {
    const resource = this.#resources.byName.get(act.resource)
    if (!resource) throw new Error(`the guarantee names the unknown resource ${act.resource}`)
    const named = act.actions.flatMap((name) => rightsOf({ ...act, actions: [name] }, resource))
    const all = [...named, ...byCommands(act, resource), ...this.#creating(act, resource)]
    return all.flatMap((one) => {
      const of = this.#resources.byName.get(one.resource)
      const action = of?.actions.get(one.actions[0] ?? '')
      if (!of || !action) return []
      const rules = this.#rulesAbout(of, action)
      return [{ act: one, ...rules, statements: statementsOn(one, rules.asked) }]
    })
  }

  /**
   * Who may never create such an object doesn't do it by a command either whose own grant is enough. Any object counts as
   * one that the command creates. Throws CreatesUndecided for an `apart`.
   */
  #creating(act: ClaimedAct, created: Resource): readonly ClaimedAct[] {
    if (act.kind === 'always' || !act.actions.includes(createRoute(created).endpoint.action)) return []
    const filled = filledFields(created, this.#policy.ownership.get(created.name)).map(({ field }) => field.name)
    return this.#resources.routes.flatMap(({ command, endpoints, resource }) => {
      const steps = command?.grantsSteps ? command.creates.filter((step) => step.resource === created.name) : []
      const given = new Set([...filled, ...steps.flatMap(({ set }) => Object.keys(set))])
      if (!command || steps.length === 0 || act.fields?.every((name) => !given.has(name))) return []
      if (act.kind === 'apart') throw new CreatesUndecided(command.name, created.name)
      const { fields: _, terms: __, ...rest } = act
      return [{ ...rest, resource, actions: [endpoints.get('POST')?.action ?? ''] }]
    })
  }

  #claimsAbout(one: AskedAct): readonly ActClaim[] {
    const { act, asked } = one
    const sought = this.#callers.seeking([one], {
      isFound: (caller) => this.#claimsOf(one, caller).some(({ broken }) => broken !== NOWHERE),
      couldBe: (caller) => whereIn([one], caller, WITH_WRITERS).length > 0,
    })
    const seen = new Set<string>()
    return this.#callers.alone(act.subjects, asked).flatMap((caller) => {
      const claims = this.#claimsOf(one, caller)
      if (act.kind === 'always' || claims.some(({ broken }) => broken !== NOWHERE)) return claims
      return [...claims, ...[...withWriters(caller, sought, seen)].flatMap((more) => this.#claimsOf(one, more))]
    })
  }

  /** Now, and after each end of the caller's rules that could break the guarantee. */
  #claimsOf(one: AskedAct, caller: GuaranteedCaller): readonly ActClaim[] {
    const statements = one.statements.filter(({ kind }) => kind === caller.kind)
    return [one.asked, ...this.#askedLater(one, caller)].flatMap((asked) =>
      statements.map((statement) => claimOf(statement, caller, asked)),
    )
  }

  #rulesAbout(resource: Resource, action: Action): Pick<AskedAct, 'asked' | 'lasting'> {
    return this.#rules.getOrInsertComputed(JSON.stringify([resource.name, action.name]), () => {
      const space = this.#spaces.getOrInsertComputed(resource.name, () => new ResourceSpace(this.#policy, resource))
      const rules = this.#policy.rules.filter((rule) => coversResource(rule, resource) && performs(rule, action))
      const living = livingAt({ ...this.#policy, rules }, this.#now)
      const lasts = living.rules.filter(({ effect, until }) => effect === 'allow' || until === undefined)
      const about = { resource, action, space, time: this.#now }
      const asked = new AskedRules(living, about)
      const isSame = lasts.length === living.rules.length
      return { asked, lasting: isSame ? asked : new AskedRules({ ...living, rules: lasts }, about) }
    })
  }

  /**
   * The end of an allow takes away, so it can break only an `always`; the end of a deny can break only the others. Throws
   * TooManyEnds.
   */
  #askedLater({ act: { kind }, asked }: AskedAct, caller: GuaranteedCaller): readonly AskedRules[] {
    const rules = asked.rulesOf(caller)
    const ends = endsOf(rules.filter(({ effect }) => effect === (kind === 'always' ? 'allow' : 'deny')))
    if (ends.length > MOST_ENDS) throw new TooManyEnds(asked, ends.length)
    const own = { ...this.#policy, rules }
    return ends.map((time) => new AskedRules(livingAt(own, time), { ...asked, time }))
  }
}

/**
 * Who can always run a command is granted all that it sets, by the rules about its action and by those about its steps.
 * Of who can never run it, its own action is asked about alone: that can find a break that no request makes. Throws
 * CreatesUndecided.
 */
function rightsOf(act: ClaimedAct, resource: Resource): readonly ClaimedAct[] {
  const [name = ''] = act.actions
  const command = commandByAction(resource, name)
  if (!command || act.kind !== 'always') return [act]
  const [created] = command.grantsSteps ? [] : command.creates
  if (created) throw new CreatesUndecided(command.name, created.resource)
  const own = { ...act, ...(command.sets.size > 0 && { fields: act.fields ?? [...command.sets] }) }
  const also = resource.actions.get(name)?.also
  return also ? [own, { ...own, actions: [also.name] }] : [own]
}

/**
 * Who may not update a field doesn't change it by a command either: the acts of those commands whose own grant is enough
 * for what they set. Any value counts as one that the command sets.
 */
function byCommands(act: ClaimedAct, { routes }: Resource): readonly ClaimedAct[] {
  if (act.kind === 'always' || !act.actions.includes('update')) return []
  return routes.flatMap(({ command, endpoints }) => {
    const action = endpoints.get('POST')?.action
    if (!command?.grantsSteps || action === undefined || act.actions.includes(action)) return []
    const set = Object.keys(command.set)
    const fields = act.fields?.filter((name) => set.includes(name)) ?? set
    return fields.length === 0 ? [] : [{ ...act, actions: [action], fields }]
  })
}

class CreatesUndecided extends Error {
  constructor(command: string, created: string) {
    super(`the command \`${command}\` also creates objects of \`${created}\`, so it isn't about one object alone`)
  }
}

class TooManyEnds extends Error {
  constructor({ resource, action }: AskedRules, ends: number) {
    super(
      `the rules about \`${action.name}\` of \`${resource.name}\` end at ${ends} times, and ${MOST_ENDS} can be decided`,
    )
  }
}
