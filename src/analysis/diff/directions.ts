/** The words and signs of the directions of a change, in the order in which a diff tells them. */
import type { Phrase } from '../../present/phrase.ts'
import { changeSentence, type Direction, directionOf } from './change.ts'
import type { PolicyDiff } from './compare-policies.ts'

export const DIRECTIONS = ['widening', 'either', 'narrowing', 'neutral'] as const

export const HEADINGS: Readonly<Record<Direction, string>> = {
  widening: 'Widening: more is allowed',
  either: 'Either: depends on objects or callers',
  narrowing: 'Narrowing: less is allowed',
  neutral: 'Neutral: no request is decided differently',
}

export const SIGNS: Readonly<Record<Direction, string>> = { widening: '+', either: '?', narrowing: '-', neutral: '=' }

interface DirectionSection {
  readonly direction: Direction
  readonly sentences: readonly Phrase[]
}

/** The directions that occur, with their changes. */
export function sectionsOf({ changes }: PolicyDiff): readonly DirectionSection[] {
  return DIRECTIONS.flatMap((direction) => {
    const sentences = changes.filter((change) => directionOf(change) === direction).map(changeSentence)
    return sentences.length === 0 ? [] : [{ direction, sentences }]
  })
}
