/** The review of this tab: the report that is looked at, and what the person decided. It stays while pages change. */
import type { Told } from '../api/ask.ts'
import { session } from '../api/session.ts'
import type { AccessReport, AccessRow, SignedReview } from '../api/types.ts'
import { digestOf } from '../parts/digest.ts'
import { inSlices } from '../parts/slices.ts'
import { createStore } from '../parts/store.ts'

export type Decision = 'confirmed' | 'revoked'

interface ReviewUnderWay {
  readonly told: Told<AccessReport>
  /** Changed in place; the store is set anew. */
  readonly decisions: Map<AccessRow, Decision>
  /** How many lines were decided whose access is another one now, or gone. */
  readonly gone: number
  readonly signed?: SignedReview | undefined
}

export const review = createStore<ReviewUnderWay | undefined>(undefined)

// Another person must not find it.
session.follow(() => {
  if (session.get().kind === 'none') review.set(undefined)
})

window.addEventListener('beforeunload', (event) => {
  const now = review.get()
  if (now && now.decisions.size > 0 && !now.signed) event.preventDefault()
})

/** What was decided about the same lines stays: a line whose access changes is another one. */
export function takeReport(told: Told<AccessReport>): void {
  const before = review.get()
  if (before?.told === told) return
  const { rows } = told.result
  const byText = new Map([...(before?.decisions ?? [])].map(([row, decision]) => [textOf(row), decision]))
  const decisions = new Map<AccessRow, Decision>()
  for (const row of byText.size > 0 ? rows : []) {
    const decision = byText.get(textOf(row))
    if (decision) decisions.set(row, decision)
  }
  review.set({ told, decisions, gone: byText.size - decisions.size })
  void inSlices(makeTexts(rows))
}

/** Before somebody looks for one. */
function* makeTexts(rows: readonly AccessRow[]): Generator {
  for (const row of rows) yield soughtText(row)
}

/** Undefined takes the decision back. */
export function decide(rows: readonly AccessRow[], decision: Decision | undefined): void {
  const now = review.get()
  if (!now) return
  for (const row of rows) {
    if (decision === undefined) now.decisions.delete(row)
    else now.decisions.set(row, decision)
  }
  review.set({ ...now, signed: undefined })
}

export function keepSigned(told: Told<AccessReport>, signed: SignedReview): void {
  const now = review.get()
  if (now?.told === told) review.set({ ...now, signed })
}

const texts = new WeakMap<AccessRow, string>()

/** As it counts for the digest that a review signs (docs/access.md): who may do what, and not on how many objects. */
export function textOf(row: AccessRow): string {
  const known = texts.get(row)
  if (known !== undefined) return known
  const { resource, action, subject, key, roles, when } = row
  const text = JSON.stringify([resource, action, subject, key, roles, when, fieldsOf(row)])
  texts.set(row, text)
  return text
}

const soughtTexts = new WeakMap<AccessRow, string>()

/** In small letters. */
export function soughtText(row: AccessRow): string {
  const known = soughtTexts.get(row) ?? textOf(row).toLowerCase()
  soughtTexts.set(row, known)
  return known
}

export function fieldsOf({ fields }: AccessRow): readonly string[] {
  return [...new Set(fields.flatMap(({ names }) => names))].sort()
}

/** Of the lines that are shown, and not of what the server says about them. */
export function digestOfReport(rows: readonly AccessRow[]): Promise<string> {
  return digestOf(rows.map((row) => `${textOf(row)}\n`).join(''))
}

/** The numbers of the lines with this decision: `1-40,42`. */
export function numbersOf(
  rows: readonly AccessRow[],
  decisions: ReadonlyMap<AccessRow, Decision>,
  wanted: Decision,
): string {
  const parts: string[] = []
  for (let i = 0; i < rows.length; i += 1) {
    const first = i + 1
    while (i < rows.length && decisions.get(rows[i] as AccessRow) === wanted) i += 1
    if (i >= first) parts.push(i === first ? `${first}` : `${first}-${i}`)
  }
  return parts.join()
}
