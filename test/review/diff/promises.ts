/** What a diff promises of its decisions, held to the oracle over a whole space of situations. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { ChangeScope, DecisionChange, PolicyDifference, ScopeTerm } from '../../../src/analysis/diff/change.ts'
import type { OracleCaller } from '../../policy/world.ts'
import type { PolicyPair } from './policy-pairs.ts'
import type { Holding, Point, Question } from './whole-space.ts'

/** Whether an action passes before any object is looked for, while exactly some conditions of the request hold. */
export interface RoleLevels {
  /** By name, whether it holds: all that the policies declare. */
  readonly conditions: ReadonlyMap<string, boolean>
  readonly before: boolean
  readonly after: boolean
}

/** The pairs of policies, and every situation that their relations can tell apart. */
export interface Space {
  readonly pairs: fc.Arbitrary<PolicyPair>
  readonly callers: fc.Arbitrary<readonly Partial<OracleCaller>[]>
  questionsOf(caller: OracleCaller): readonly Question[]
  callerOf(id: string | undefined, roles: readonly string[]): OracleCaller
  /** The decisions that decide: for a write to a stored object, those on its result. */
  pointsOf(pair: PolicyPair, question: Question): readonly Point[]
  /** The first decisions. */
  objectPointsOf(pair: PolicyPair, question: Question): readonly Point[]
  roleLevels(pair: PolicyPair, question: Question): readonly RoleLevels[]
}

export type Diff = (pair: PolicyPair) => readonly PolicyDifference[]

type Promised = Readonly<
  Record<'missesNothing' | 'saysNothingElse' | 'saysAll', (diff: Diff) => fc.IRawProperty<unknown>>
>

export function promisesIn(space: Space): Promised {
  const promises = new Promises(space)
  return {
    missesNothing: (diff) => promises.missesNothing(diff) as fc.IRawProperty<unknown>,
    saysNothingElse: (diff) => promises.saysNothingElse(diff) as fc.IRawProperty<unknown>,
    saysAll: (diff) => promises.saysAll(diff) as fc.IRawProperty<unknown>,
  }
}

class Promises {
  readonly #space: Space

  constructor(space: Space) {
    this.#space = space
  }

  /** Each difference that the oracle knows is in the diff, for a subject or two of the caller. */
  missesNothing(diff: Diff) {
    const { pairs, callers: randomCallers, callerOf, questionsOf } = this.#space
    return fc.property(pairs, randomCallers, (pair, callers) => {
      const changes = decisionsIn(diff(pair))
      const missed = callers.flatMap(({ id, roles }) => {
        const caller = callerOf(id, roles ?? [])
        return questionsOf(caller).flatMap((question) => {
          const told = changes.filter((change) => concerns(change, question) && change.callers.some(holds(caller)))
          return this.#missedIn(pair, question, told)
        })
      })
      expect(missed).to.deep.equal([])
    })
  }

  #missedIn(pair: PolicyPair, question: Question, told: readonly DecisionChange[]): readonly string[] {
    const { pointsOf, objectPointsOf } = this.#space
    const effects = new Set(told.map(({ effect }) => effect))
    const points = [...pointsOf(pair, question), ...objectPointsOf(pair, question)]
    const missed = new Set(points.flatMap(effectsAt)).difference(effects)
    return [...missed, ...this.#missedOnRoleLevel(pair, question, { points, told })].map((effect) => {
      return `${question.caller.roles} ${effect} ${question.action}`
    })
  }

  /** The diff tells it for one subject and for two, under each set of conditions where no object tells it. */
  #missedOnRoleLevel(
    pair: PolicyPair,
    question: Question,
    { points, told }: { readonly points: readonly Point[]; readonly told: readonly DecisionChange[] },
  ): readonly DecisionChange['effect'][] {
    const { id, roles } = question.caller
    if (roles.length > (id === 'nobody' ? 2 : 1)) return []
    return this.#space.roleLevels(pair, question).flatMap((level) => {
      if (level.before === level.after) return []
      const effect = level.after ? 'gains' : 'loses'
      const isHere = ({ holding }: Point) =>
        [...level.conditions].every(([name, holds]) => holding.stored.has(name) === holds)
      const isShown = points.some((point) => isHere(point) && effectsAt(point).includes(effect))
      const isTold = told.some((change) => change.effect === effect && meetsConditions(level, change.scope))
      return isShown || isTold ? [] : [effect]
    })
  }

  /** Each change is true at every point that it is about, and is about one at least. */
  saysNothingElse(diff: Diff) {
    const { pairs, questionsOf } = this.#space
    return fc.property(pairs, (pair) => {
      const wrong = decisionsIn(diff(pair)).flatMap((change) =>
        change.callers.flatMap((names) =>
          questionsOf(this.#callerNamed(names))
            .filter((question) => concerns(change, question))
            .flatMap((question) => this.#faultsOf(pair, question, change)),
        ),
      )
      expect(wrong).to.deep.equal([])
    })
  }

  #faultsOf(pair: PolicyPair, question: Question, change: DecisionChange): readonly string[] {
    const told = `${question.resource.name} ${JSON.stringify(change)}`
    if (change.part === 'role level') {
      const about = this.#space.roleLevels(pair, question).filter((one) => meetsConditions(one, change.scope))
      const isTrue = ({ before, after }: RoleLevels) => before !== after && after === (change.effect === 'gains')
      return about.length > 0 && (change.scope ? about.every(isTrue) : about.some(isTrue)) ? [] : [told]
    }
    const { pointsOf, objectPointsOf } = this.#space
    const points = change.part === 'object level' ? objectPointsOf(pair, question) : pointsOf(pair, question)
    const about = points.filter((point) => meets(point, change.scope))
    if (!change.scope) return points.some((point) => effectsAt(point).includes(change.effect)) ? [] : [told]
    return about.length > 0 && about.every((point) => isTrueAt(point, change)) ? [] : [told]
  }

  /** For a subject alone: what was granted, with the changes applied, is what is granted. */
  saysAll(diff: Diff) {
    const { pairs, questionsOf, pointsOf } = this.#space
    return fc.property(pairs, (pair) => {
      const changes = decisionsIn(diff(pair))
      const wrong = singlesOf(pair).flatMap((name) =>
        questionsOf(this.#callerNamed([name])).flatMap((question) => {
          const told = changes.filter((change) => {
            return concerns(change, question) && change.callers.some((names) => names.length === 1 && names[0] === name)
          })
          return pointsOf(pair, question)
            .filter((point) => applied(point, told).symmetricDifference(point.after).size > 0)
            .map(
              ({ holding }) =>
                `${name} ${question.action} ${question.resource.name} (${[...holding.stored].join('+')})`,
            )
        }),
      )
      expect(wrong).to.deep.equal([])
    })
  }

  #callerNamed(names: readonly string[]): OracleCaller {
    if (names.includes('anonymous')) return this.#space.callerOf(undefined, [])
    const user = names.find((name) => name.startsWith('user:'))
    return this.#space.callerOf(
      user?.slice('user:'.length) ?? 'nobody',
      names.filter((name) => name !== user && name !== 'everyone'),
    )
  }
}

/** What is granted; by what lists may be queried is in queries.test.ts. */
export function decisionsIn(changes: readonly PolicyDifference[]): readonly DecisionChange[] {
  return changes.flatMap((change) => (change.kind === 'decision' && change.part !== 'query' ? [change] : []))
}

export function effectsAt({ before, after }: Pick<Point, 'before' | 'after'>): readonly DecisionChange['effect'][] {
  const gains = after.isSubsetOf(before) ? [] : ['gains' as const]
  return before.isSubsetOf(after) ? gains : [...gains, 'loses']
}

export function shortened(scope: ChangeScope | undefined): ChangeScope | undefined {
  return scope && { ...scope, when: scope.when.map((term) => ({ ...term, with: term.with.slice(0, 1) })) }
}

function isTrueAt(point: Point, { effect, part, fields }: DecisionChange): boolean {
  const [less, more] = effect === 'gains' ? [point.before, point.after] : [point.after, point.before]
  const named = new Set(fields ?? more)
  if (part === 'object level') return !more.isSubsetOf(less)
  if (part === 'fields') return less.size > 0 && named.isSubsetOf(more) && named.isDisjointFrom(less)
  return less.size === 0 && more.size > 0 && named.symmetricDifference(more).size === 0
}

function applied(point: Point, told: readonly DecisionChange[]): ReadonlySet<string> {
  const here = told.filter(({ part, scope }) => !part.endsWith('level') && meets(point, scope))
  return here.reduce<ReadonlySet<string>>((fields, { effect, part, fields: named }) => {
    if (effect === 'gains') return fields.union(new Set(named ?? point.after))
    return part === 'action' ? new Set() : fields.difference(new Set(named))
  }, point.before)
}

function concerns({ resources, actions }: DecisionChange, { resource, action }: Question): boolean {
  return resources.includes(resource.name) && actions.includes(action)
}

function holds({ id, roles }: OracleCaller): (names: readonly string[]) => boolean {
  const own = new Set(['everyone', id === undefined ? 'anonymous' : `user:${id}`, ...roles])
  return (names) => names.every((name) => own.has(name))
}

function singlesOf({ before, after }: PolicyPair): readonly string[] {
  return ['everyone', 'anonymous', ...new Set([...before.roles, ...after.roles])]
}

/** Only conditions count: the role level knows no object. */
function meetsConditions({ conditions }: RoleLevels, scope: ChangeScope | undefined): boolean {
  const isSo = (wanted: boolean) => (name: string) => (conditions.get(name) ?? wanted) === wanted
  return !scope || scope.when.some((term) => term.with.every(isSo(true)) && term.without.every(isSo(false)))
}

function meets({ holding }: Point, scope: ChangeScope | undefined): boolean {
  if (!scope) return false
  const holdsHere = (terms: ChangeScope['when']) => terms.some((term) => meetsTerm(holding, term))
  return holdsHere(scope.when) && !holdsHere(scope.besides)
}

/** As a relation column: what the right side names is asked of the stored object alone on the left. */
function meetsTerm({ stored, mixed, proposed }: Holding, term: ScopeTerm): boolean {
  const onRight = new Set([...(term.becomes?.with ?? []), ...(term.becomes?.without ?? [])])
  const both = (name: string, wanted: boolean) =>
    stored.has(name) === wanted && (onRight.has(name) || mixed.has(name) === wanted)
  return (
    term.with.every((name) => both(name, true)) &&
    term.without.every((name) => both(name, false)) &&
    (term.becomes?.with ?? []).every((name) => proposed.has(name)) &&
    !(term.becomes?.without ?? []).some((name) => proposed.has(name))
  )
}
