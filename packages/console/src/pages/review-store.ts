/** The review of this tab: the report that is looked at, and what the person decided. It stays while pages change. */
import type { Told } from '../api/ask.ts'
import { session } from '../api/session.ts'
import type { AccessReport, AccessRow, SignedReview } from '../api/types.ts'
import { digestOf } from '../parts/digest.ts'
import { createStore } from '../parts/store.ts'

export type Decision = 'confirmed' | 'revoked'

interface ReviewUnderWay {
  readonly told: Told<AccessReport>
  /** By the text of the line: a line whose access changes is another one. Changed in place; the store is set anew. */
  readonly decisions: Map<string, Decision>
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

/** What was decided about the same lines stays. */
export function takeReport(told: Told<AccessReport>): void {
  const before = review.get()
  if (before?.told === told) return
  const texts = new Set(before && told.result.rows.map(textOf))
  const all = [...(before?.decisions ?? [])]
  const kept = all.filter(([text]) => texts.has(text))
  review.set({ told, decisions: new Map(kept), gone: all.length - kept.length })
}

/** Undefined takes the decision back. */
export function decide(rows: readonly AccessRow[], decision: Decision | undefined): void {
  const now = review.get()
  if (!now) return
  for (const row of rows) {
    if (decision === undefined) now.decisions.delete(textOf(row))
    else now.decisions.set(textOf(row), decision)
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
  decisions: ReadonlyMap<string, Decision>,
  wanted: Decision,
): string {
  const parts: string[] = []
  for (let i = 0; i < rows.length; i += 1) {
    const first = i + 1
    while (i < rows.length && decisionOf(rows[i], decisions) === wanted) i += 1
    if (i >= first) parts.push(i === first ? `${first}` : `${first}-${i}`)
  }
  return parts.join()
}

function decisionOf(row: AccessRow | undefined, decisions: ReadonlyMap<string, Decision>): Decision | undefined {
  return row && decisions.get(textOf(row))
}
