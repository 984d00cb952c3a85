/**
 * The relations and conditions that a near miss can't count on: nobody told them, and no case is about them. What holds
 * for nobody without credentials may hold for somebody with them, and what holds for one person may not for another.
 */
import { leavesOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { conditionNeedsCaller } from '../../../decide/request-conditions/all-conditions.ts'
import type { NeededChange } from '../explanation.ts'
import { conditionFacts } from '../facts/condition-facts.ts'
import { relationFacts } from '../facts/relation-facts.ts'
import type { ExplainQuestion } from '../question.ts'
import {
  actionTable,
  conditionsAsked,
  declaredRelations,
  relationsAsked,
  type SupposedRequest,
} from '../supposed-request.ts'

type Names = ReadonlySet<string>

/** Relations without parts, and conditions. */
export interface NamesKnown {
  /** Those that hold, also if no rule about the caller names them. */
  readonly certain: Names
  readonly unknown: Names
}

/** `decided`: the names of a case, which says of each whether it holds. `named`: the conditions that any rule names. */
export function namesKnown(
  question: ExplainQuestion,
  request: SupposedRequest,
  { decided, named }: { readonly decided: Names; readonly named: Names },
): NamesKnown {
  const leaves = new Set(declaredRelations(request).flatMap(leavesOf))
  const relations = relationFacts(question, request).filter(({ name }) => [...leaves].some((one) => one.name === name))
  const conditions = conditionFacts(question, named)
  const those = (holds: boolean | null) => [...relations, ...conditions].filter((one) => one.holds === holds)
  const certain = conditions.filter(({ holds }) => holds === true).map(({ name }) => name)
  return { certain: new Set(certain), unknown: new Set(those(null).map(({ name }) => name)).difference(decided) }
}

/** The names that the cases of a request tell apart. */
export function decidedByCases(request: SupposedRequest): Names {
  const leaves = relationsAsked(request).flatMap(leavesOf)
  return new Set([...leaves.map(({ name }) => name), ...conditionsAsked(request)])
}

interface OtherCaller {
  readonly request: SupposedRequest
  readonly changes: readonly NeededChange[]
}

/** Of the names that rules about a caller have; --becomes tells its states. */
export function openFor({ request, changes }: OtherCaller, question: ExplainQuestion, { unknown }: NamesKnown): Names {
  const table = actionTable(request)
  const leaves = table.compared.flatMap(leavesOf).filter(({ name }) => !request.becomes?.states.has(name))
  const isAnonymous = request.subject.caller === undefined
  const relations = leaves.filter((leaf) => {
    if (needsCaller(leaf) && isAnonymous) return false
    return unknown.has(leaf.name) || (isStranger(question, changes) && needsCaller(leaf))
  })
  const conditions = table.conditions.filter((name) => unknown.has(name) || isNew(question, changes, request, name))
  return new Set([...relations.map(({ name }) => name), ...conditions])
}

/** Whether the relations of the caller who asks say nothing about this one; --relation tells those of any caller. */
function isStranger({ caller, known }: ExplainQuestion, changes: readonly NeededChange[]): boolean {
  if (changes.length === 0 || (known.kind === 'relations' && known.from === '--relation')) return false
  if (caller.kind === 'anonymous') return true
  return caller.subject !== undefined && changes.some(({ kind }) => kind === 'user')
}

/** Whether a condition may hold because the caller has credentials now; --with tells what holds. */
function isNew(
  { caller, told }: ExplainQuestion,
  changes: readonly NeededChange[],
  { parsed }: SupposedRequest,
  name: string,
): boolean {
  if (changes.length === 0 || caller.kind !== 'anonymous' || told.conditions?.from === '--with') return false
  const condition = parsed.conditions.get(name)
  return condition !== undefined && conditionNeedsCaller(condition)
}
