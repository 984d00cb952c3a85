/** The words and signs of the directions of a change, in the order in which a diff tells them. */
import type { Direction } from './change.ts'

export const DIRECTIONS = ['widening', 'either', 'narrowing', 'neutral'] as const

export const HEADINGS: Readonly<Record<Direction, string>> = {
  widening: 'Widening: more is allowed',
  either: 'Either: depends on objects or callers',
  narrowing: 'Narrowing: less is allowed',
  neutral: 'Neutral: no request is decided differently',
}

export const SIGNS: Readonly<Record<Direction, string>> = { widening: '+', either: '?', narrowing: '-', neutral: '=' }
