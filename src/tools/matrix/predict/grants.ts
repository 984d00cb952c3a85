/** What one policy grants, remembered: a prediction asks the same few questions for thousands of cells. */

import { evaluate, roleLevelRules, rulesFor } from '../../../decide/grants/evaluate.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Has } from '../../../decide/relations/relation-kind.ts'
import { lives } from '../../../decide/rules/ends.ts'
import { columnOfRoles } from '../../../decide/space.ts'
import type { Action, Json, Resource } from '../../../resources/resource.ts'

/** Who asks: the id, roles and further claims of a token; undefined without credentials. */
export type Asker = { readonly id: string; readonly roles: readonly string[]; readonly claims?: Claims } | undefined

type Claims = Readonly<Record<string, Json>>

export interface Question {
  readonly asker: Asker
  readonly resource: Resource
  readonly action: Action
}

type Fields = ReadonlySet<string>

/** The rules about one question, and what they grant by relation set. */
interface Known {
  readonly subjects: ReadonlySet<string>
  readonly about: Policy
  readonly granted: Map<string, Fields>
}

export class Grants {
  readonly policy: Policy
  readonly #known = new Map<string, Known>()
  /** Users that rules name; all others are alike. */
  readonly #users: ReadonlySet<string>

  /** `now` is milliseconds since the epoch: a rule may have an end. */
  constructor(policy: Policy, now: number) {
    this.policy = { ...policy, rules: policy.rules.filter((rule) => lives(rule, now)) }
    this.#users = new Set(policy.rules.map(({ subject }) => subject).filter((subject) => subject.startsWith('user:')))
  }

  /** The fields granted when exactly these relations hold (`*` for an action without fields); empty when refused. */
  fields(question: Question, relations: readonly string[]): Fields {
    const known = this.#about(question)
    const key = relations.toSorted().join('+')
    const found = known.granted.get(key)
    if (found) return found
    const { subjects, about } = known
    const { resource, action } = question
    const { fields } = evaluate(about, { subjects, resource, action, relations: new Set(relations) })
    known.granted.set(key, fields)
    return fields
  }

  /**
   * Role level: some relation set that the caller could have would be allowed. With more relations than an allow asks for,
   * only denies can join.
   */
  reachable(question: Question, has: Has): boolean {
    const { about, subjects } = this.#about(question)
    return roleLevelRules(about, { ...question, subjects }, has).some(
      ({ effect, relations }) => effect === 'allow' && this.fields(question, relations).size > 0,
    )
  }

  #about(question: Question): Known {
    const { asker, resource, action } = question
    const user = asker && this.#users.has(`user:${asker.id}`) ? asker.id : ''
    const key = `${resource.name} ${action.name} ${asker ? asker.roles.join('+') : '-'} ${user}`
    const found = this.#known.get(key)
    if (found) return found
    const subjects = this.#subjectsOf(asker)
    const rules = rulesFor(this.policy, { subjects, resource, action })
    const known: Known = { subjects, about: { ...this.policy, rules }, granted: new Map() }
    this.#known.set(key, known)
    return known
  }

  #subjectsOf(asker: Asker): ReadonlySet<string> {
    if (!asker) return new Set(['everyone', 'anonymous'])
    return columnOfRoles(this.policy, asker.roles).subjects.union(new Set([`user:${asker.id}`]))
  }
}
