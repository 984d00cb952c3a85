/** A place in a file where a name of the policy stands, or could stand. */

export type NameKind = 'role' | 'resource' | 'action' | 'relation' | 'condition' | 'view' | 'field'

export interface NameSlot {
  /** Offsets in the text, in UTF-16 code units. */
  readonly start: number
  readonly end: number
  /** The text between them. */
  readonly name: string
  /** What the name may be of. */
  readonly kinds: readonly NameKind[]
  /** The resources that the place is about; empty if it is about none. */
  readonly about: readonly string[]
  /** Words that may stand here and are no names. */
  readonly words: readonly string[]
  /** Whether the name is declared here. */
  readonly declares: boolean
}

type SlotMeaning = Partial<Pick<NameSlot, 'kinds' | 'about' | 'words' | 'declares'>>

/** One slot for each name in a text with several, as in `owner+!draft>placed`. */
export function slotsIn(text: string, start: number, separator: RegExp | undefined, meaning: SlotMeaning): NameSlot[] {
  const ends = separator ? [...text.matchAll(separator)].map(({ index, 0: sign }) => [index, sign.length] as const) : []
  let from = 0
  return [...ends, [text.length, 0] as const].map(([at, length]) => {
    const piece = text.slice(from, at)
    const leading = /^\s*!?\s*/.exec(piece)?.[0].length ?? 0
    const name = piece.slice(leading).trimEnd()
    const begin = start + from + leading
    from = at + length
    return {
      start: begin,
      end: begin + name.length,
      name,
      kinds: [],
      about: [],
      words: [],
      declares: false,
      ...meaning,
    }
  })
}
