/**
 * The callers that a guarantee is asked about. Those with few subjects are enough: each further one only adds denies,
 * unless its allows are needed too (docs/decisions/0108).
 */
import { choices as choicesOf } from '../../base/subsets.ts'
import { columnOfRoles } from '../../decide/callers-and-routes.ts'
import type { GuaranteedSubjects, Policy } from '../../decide/policy.ts'
import { hadOf, type RolesApart, roleGuaranteesOf, rolesLost } from '../../decide/role-guarantees.ts'
import { NOWHERE } from '../regions.ts'
import { type AskedRules, type GuaranteedCaller, sizeOf } from './asked-rules.ts'
import type { AskedAct } from './claims.ts'

const ANONYMOUS: GuaranteedCaller = { kind: 'anonymous', roles: [], subjects: new Set(['everyone', 'anonymous']) }

/** A search that joins more is given up. */
const MOST_JOINED = 20_000

export class Callers {
  readonly #policy: Policy
  readonly #apart: readonly RolesApart[]
  readonly #subjects = new Map<string, ReadonlySet<string>>()

  constructor(policy: Policy) {
    this.#policy = policy
    this.#apart = roleGuaranteesOf(policy).apart
  }

  /** Those who must have certain roles, with nothing else and with each role or user that rules name. */
  alone(subjects: GuaranteedSubjects, asked: AskedRules): readonly GuaranteedCaller[] {
    const further = this.#ofRules([asked], [subjects])
    const all = this.required([subjects]).flatMap((one) => [
      one,
      ...further.flatMap((more) => this.#joined(one, more) ?? []),
    ])
    return this.#distinct(all, [asked])
  }

  /** Those who have just what all of these ask for, one of each. */
  required(all: readonly GuaranteedSubjects[]): readonly GuaranteedCaller[] {
    const choices = all.map((one) => ('with' in one ? one.with : ['everyone']))
    const chosen = choicesOf(choices).map((names) => new Set(names))
    const callers = chosen.flatMap((names) => {
      const roles = [...names].filter((name) => name !== 'everyone' && name !== 'anonymous')
      return [
        ...(roles.length === 0 ? [ANONYMOUS] : []),
        ...(names.has('anonymous') || !this.#canHave(roles) ? [] : [this.#of(roles)]),
      ]
    })
    return callers.filter((one) => all.every((some) => isWanted(one, some)))
  }

  /** Each role and each user that rules are about, but those left out; those with the same rules once. */
  #ofRules(asked: readonly AskedRules[], subjects: readonly GuaranteedSubjects[]): readonly GuaranteedCaller[] {
    const named = asked.reduce((names, one) => names.union(one.named), new Set<string>())
    const roles = [...this.#policy.roles.keys()].filter((role) => !this.#subjectsOf(role).isDisjointFrom(named))
    const users = [...named].filter((name) => name.startsWith('user:'))
    const all = [...roles.map((role) => this.#of([role])), ...users.map((user) => this.#of([], user))]
    return this.#distinct(
      all.filter((one) => subjects.every((some) => isWanted(one, some))),
      asked,
    )
  }

  /** Callers with the same rules, who may have the same further roles, once; those with fewer subjects first. */
  #distinct(callers: readonly GuaranteedCaller[], asked: readonly AskedRules[]): readonly GuaranteedCaller[] {
    const found = new Map<string, GuaranteedCaller>()
    for (const one of callers.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
      found.getOrInsertComputed(this.#keyOf(one, asked), () => one)
    }
    return [...found.values()]
  }

  /** The rules, and the roles that keep others away: both decide what further roles give. */
  #keyOf(caller: GuaranteedCaller, asked: readonly AskedRules[]): string {
    const apart = this.#apart.map((one) => [...hadOf(one, caller.roles)].join())
    return [caller.kind, ...asked.map((one) => one.profileOf(caller)), ...apart].join(' ')
  }

  /** One search for a caller who does these acts. */
  seeking(acts: readonly AskedAct[], found: Pick<SoughtCaller, 'isFound' | 'couldBe'>): SoughtCaller {
    const asked = acts.map((one) => one.asked)
    const subjects = acts.map(({ act }) => act.subjects)
    return {
      ...found,
      further: this.#ofRules(asked, subjects),
      keyOf: (caller) => this.#keyOf(caller, asked),
      join: this.#counting(),
      writesMore: (caller, more) => acts.some((one) => writesMore(one, caller, more)),
    }
  }

  /** `joined`, as often as one search may ask. Throws TooManyCallers. */
  #counting(): SoughtCaller['join'] {
    let count = 0
    return (one, other) => {
      if (count++ === MOST_JOINED) throw new TooManyCallers()
      return this.#joined(one, other)
    }
  }

  /** Undefined where nobody is both. */
  #joined(one: GuaranteedCaller, other: GuaranteedCaller): GuaranteedCaller | undefined {
    if (one.kind === 'anonymous' || other.kind === 'anonymous') return undefined
    if (one.user !== undefined && other.user !== undefined) return undefined
    const all = new Set([...one.roles, ...other.roles])
    const isInherited = (role: string) => [...all].some((heir) => heir !== role && this.#subjectsOf(heir).has(role))
    const roles = [...all].filter((role) => !isInherited(role))
    return this.#canHave(roles) ? this.#of(roles, one.user ?? other.user) : undefined
  }

  /** No guarantee keeps these roles apart. */
  #canHave(roles: readonly string[]): boolean {
    return rolesLost(this.#apart, roles).length === 0
  }

  #of(roles: readonly string[], user?: string): GuaranteedCaller {
    const inherited = roles.flatMap((role) => [...this.#subjectsOf(role)])
    const subjects = new Set(['everyone', ...inherited, ...(user === undefined ? [] : [user])])
    return { kind: 'known', roles, ...(user !== undefined && { user }), subjects }
  }

  #subjectsOf(role: string): ReadonlySet<string> {
    return this.#subjects.getOrInsertComputed(role, () => columnOfRoles(this.#policy, [role]).subjects)
  }
}

function isWanted({ subjects }: GuaranteedCaller, wanted: GuaranteedSubjects): boolean {
  return 'with' in wanted || !wanted.without.some((role) => subjects.has(role))
}

/** A caller who is looked for. */
export interface SoughtCaller {
  /** Who may be joined with another one, since more is granted then. */
  readonly further: readonly GuaranteedCaller[]
  /** Callers with the same key find the same. */
  readonly keyOf: (caller: GuaranteedCaller) => string
  readonly join: (one: GuaranteedCaller, other: GuaranteedCaller) => GuaranteedCaller | undefined
  isFound(caller: GuaranteedCaller): boolean
  /** Whether this caller could be found if everything could be written that everybody together can write. */
  couldBe(caller: GuaranteedCaller): boolean
  /** Whether `more` may write something that `caller` may not. */
  writesMore(caller: GuaranteedCaller, more: GuaranteedCaller): boolean
}

function writesMore({ lasting, statements }: AskedAct, caller: GuaranteedCaller, more: GuaranteedCaller): boolean {
  return statements.some(({ operation }) => {
    const before = lasting.writable(caller, operation)
    return lasting.space.regions.minus(lasting.writable(more, operation), before) !== NOWHERE
  })
}

/** This caller, or the smallest with further roles that let it write what must be written. Throws TooManyCallers. */
export function* withWriters(
  caller: GuaranteedCaller,
  sought: SoughtCaller,
  seen: Set<string> = new Set(),
): Generator<GuaranteedCaller> {
  const key = sought.keyOf(caller)
  if (seen.has(key)) return
  seen.add(key)
  if (!sought.couldBe(caller)) return
  if (sought.isFound(caller)) return yield caller
  for (const one of sought.further) {
    const more = sought.join(caller, one)
    if (more && sought.writesMore(caller, more)) yield* withWriters(more, sought, seen)
  }
}

/** The guarantee can't be decided. */
export class TooManyCallers extends Error {
  constructor() {
    super(`more than ${MOST_JOINED} sets of roles would have to be tried`)
  }
}
