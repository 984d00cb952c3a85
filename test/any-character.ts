/**
 * Any character of Unicode, as the unit of `fc.string`. fast-check's own unit `binary` keeps a table of all of them for as
 * long as the process runs: 130 MB, and a second to make it.
 */
import fc from 'fast-check'

const SURROGATES = { first: 0xd800, count: 0x800 }

export const ANY_CHARACTER = fc
  .nat({ max: 0x10ffff - SURROGATES.count })
  .map(characterAt, (character) => placeOf(String(character)))

function characterAt(place: number): string {
  return String.fromCodePoint(place < SURROGATES.first ? place : place + SURROGATES.count)
}

/** Throws for what is not one character: fast-check asks whether the texts that it knows to be dangerous can be drawn. */
function placeOf(character: string): number {
  const [only, ...more] = character
  const code = only?.codePointAt(0)
  if (code === undefined || more.length > 0 || !character.isWellFormed()) throw new Error('not one character')
  return code < SURROGATES.first ? code : code - SURROGATES.count
}
