/**
 * Merges the rows of a method that has more of them than a person reads: states and transitions in which every caller
 * gets the same answer become one row. Nothing is left out. A merged row names what must hold and what must not
 * (`!name`); the other names make no difference. A state may fit two merged rows: both have the same answers.
 */

import type { Method } from '../../resources/resource.ts'
import { type MatrixCell, rulesByLine } from './cell.ts'
import type { ObjectKind, RowPlan } from './rows.ts'

/** More rows than this for one method of one path are merged. */
const MOST_ROWS = 2048

interface RowOfPlan {
  readonly plan: RowPlan
  readonly row: MatrixRow
}

/** `rows`: those of one method of one path. */
export function mergeRows(rows: readonly RowOfPlan[]): readonly MatrixRow[] {
  if (rows.length <= MOST_ROWS) return rows.map(({ row }) => row)
  const { states = [], transitions = [] } = Object.groupBy(rows, ({ plan }) =>
    plan.transition ? 'transitions' : 'states',
  )
  return [...merged(states), ...merged(transitions)]
}

/** Whether a relation holds before the write, or after it. */
interface RowQuestion {
  readonly name: string
  readonly when: 'before' | 'after'
  readonly holds: (plan: RowPlan) => boolean
}

/** A row as a number with a bit for each question. */
interface AnsweredRow {
  readonly bits: number
  readonly answers: string
  readonly row: MatrixRow
}

/** The questions of `mask`, answered as in `bits`. */
interface AnswerPattern {
  readonly mask: number
  readonly bits: number
}

function merged(rows: readonly RowOfPlan[]): readonly MatrixRow[] {
  const questions = questionsAbout(rows.map(({ plan }) => plan))
  const all = rows.map(({ plan, row }): AnsweredRow => {
    const bits = questions.reduce((sum, { holds }, i) => (holds(plan) ? sum | (1 << i) : sum), 0)
    return { bits, answers: JSON.stringify(row.cells.map(answerOf)), row }
  })
  const found: MatrixRow[] = []
  let left: readonly AnsweredRow[] = all
  for (let [first] = left; first; [first] = left) {
    const pattern = widest(first, questions.length, all)
    const fitting = all.filter((one) => fits(pattern, one)).map(({ row }) => row)
    found.push({
      ...first.row,
      ...labelsOf(questions, pattern, first.row),
      states: fitting.length,
      cells: first.row.cells.map((_, i) => joined(fitting.flatMap(({ cells }) => cells[i] ?? []))),
    })
    left = left.filter((one) => one !== first && !fits(pattern, one))
  }
  return found
}

/** What a caller sees of a cell. Why it is denied makes no difference. */
function answerOf({ rules: _, reason: __, ...answer }: MatrixCell) {
  return answer
}

/** Cells with the same answer as one, with the rules of all. */
function joined(cells: readonly MatrixCell[]): MatrixCell {
  const [first] = cells
  if (!first) throw new Error('a merged row stands for at least one state')
  const reason = cells.every((cell) => cell.reason === first.reason) ? first.reason : 'no-rule'
  return { ...first, reason, rules: rulesByLine(cells.flatMap(({ rules }) => rules)) }
}

/** Leaves out one question after the other, the last ones first, as long as all that fits has the same answers. */
function widest(first: AnsweredRow, questions: number, all: readonly AnsweredRow[]): AnswerPattern {
  const different = all.filter(({ answers }) => answers !== first.answers)
  let mask = 2 ** questions - 1
  for (let i = questions - 1; i >= 0; i -= 1) {
    const wider = { mask: mask & ~(1 << i), bits: first.bits }
    if (!different.some((one) => fits(wider, one))) mask = wider.mask
  }
  return { mask, bits: first.bits }
}

function fits({ mask, bits }: AnswerPattern, one: AnsweredRow): boolean {
  return ((one.bits ^ bits) & mask) === 0
}

/** Those that tell some rows apart. A name that no write changes is asked only before the write. */
function questionsAbout(plans: readonly RowPlan[]): readonly RowQuestion[] {
  const names = plans[0]?.named ?? []
  const before = names.map((name): RowQuestion => {
    return { name, when: 'before', holds: ({ relations }) => relations.has(name) }
  })
  const after = names.map((name): RowQuestion => {
    return { name, when: 'after', holds: ({ transition }) => transition?.proposed.includes(name) ?? false }
  })
  const changing = after.filter(({ name, holds }) => plans.some((plan) => holds(plan) !== plan.relations.has(name)))
  return [...before, ...changing].filter(({ holds }) => new Set(plans.map(holds)).size > 1)
}

function labelsOf(
  questions: readonly RowQuestion[],
  { mask, bits }: AnswerPattern,
  { becomes }: MatrixRow,
): Pick<MatrixRow, 'relation' | 'becomes'> {
  const side = (when: RowQuestion['when']) => {
    const terms = questions.flatMap(({ name, ...question }, i) => {
      const bit = 1 << i
      return question.when === when && mask & bit ? [bits & bit ? name : `!${name}`] : []
    })
    return [...terms, MERGED].join('+')
  }
  return { relation: side('before'), ...(becomes === undefined ? {} : { becomes: side('after') }) }
}

// ---- A row of a matrix, as data.

export interface MatrixRow {
  readonly resource: string
  readonly path: string
  /** Methods of the same endpoint: GET and HEAD share a row. */
  readonly methods: readonly Method[]
  readonly action: string
  readonly object: ObjectKind
  /**
   * The relations of the caller to the object: names joined with `+` (these hold, and no other relation that a rule
   * names), `none` (no relation that a rule names holds), `any` (no rule names a relation), `-` (the request concerns
   * no object). In a merged row `!name` doesn't hold, and `…` stands for names that make no difference.
   */
  readonly relation: string
  /** For a transition: the relations of the result that the write can change and that rules ask for, or `none`. */
  readonly becomes?: string
  /** For a merged row: how many states or transitions it stands for. */
  readonly states?: number
  readonly view: string | undefined
  /** The fields that the row is about, sorted; none for an action without fields. */
  readonly fields: readonly string[]
  /** One a column, in their order. */
  readonly cells: readonly MatrixCell[]
}

/** Stands in the relation of a merged row for all names that make no difference. */
export const MERGED = '…'

export function describeRow(plan: RowPlan): Omit<MatrixRow, 'cells'> {
  const { resource, route, methods, action, object, relation, transition, fields } = plan
  return {
    resource: resource.name,
    path: route.path,
    methods,
    action: action.name,
    object,
    relation,
    ...(transition ? { becomes: transition.becomes } : {}),
    view: route.view,
    fields,
  }
}
