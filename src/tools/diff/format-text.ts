/** A diff for a terminal: one line a change, what widens first. */

import { type Phrase, plainText, say } from '../../present/phrase.ts'
import { changeSentence, type Direction, directionOf } from './change.ts'
import { countsOf, equivalence, type PolicyDiff } from './compare-policies.ts'

const HEADINGS: Readonly<Record<Direction, string>> = {
  widening: 'Widening: more is allowed',
  either: 'Either: depends on objects or callers',
  narrowing: 'Narrowing: less is allowed',
  neutral: 'Neutral: no request is decided differently',
}

const SIGNS: Readonly<Record<Direction, string>> = { widening: '+', either: '?', narrowing: '-', neutral: '=' }

const ORDER = ['widening', 'either', 'narrowing', 'neutral'] as const

export interface DirectionSection {
  readonly direction: Direction
  readonly heading: string
  readonly sentences: readonly Phrase[]
}

export function diffText(report: PolicyDiff): string {
  const { before, after } = report.names
  const title = plainText(say`${before} -> ${after}`)
  const same = equivalence(report)
  if (same !== undefined) return `${title}\n${same}\n`
  const sections = sectionsOf(report).map(({ direction, heading, sentences }) => {
    const lines = sentences.map((sentence) => `  ${SIGNS[direction]} ${plainText(sentence)}`)
    return [heading, ...lines].join('\n')
  })
  return `${title}: ${summaryOf(report)}\n\n${sections.join('\n\n')}\n`
}

/** The directions that occur, with their changes. */
export function sectionsOf({ changes }: PolicyDiff): readonly DirectionSection[] {
  return ORDER.flatMap((direction) => {
    const sentences = changes.filter((change) => directionOf(change) === direction).map(changeSentence)
    return sentences.length === 0 ? [] : [{ direction, heading: HEADINGS[direction], sentences }]
  })
}

/** `2 widening, 1 narrowing`. */
export function summaryOf(report: PolicyDiff): string {
  const counts = countsOf(report)
  return ORDER.flatMap((direction) => (counts[direction] === 0 ? [] : [`${counts[direction]} ${direction}`])).join(', ')
}
