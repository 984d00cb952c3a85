/**
 * Values from outside as text for a terminal: plain words unchanged, anything else quoted, without characters that a
 * terminal obeys.
 */

const PLAIN = /^[\p{L}\p{N}_@.:/+-]{1,64}$/u
/** Characters that a terminal obeys, that change the direction of text, or that nobody sees (Unicode TR 44: DI). */
const INVISIBLE = /(?! )[\p{C}\p{Z}\p{DI}]/gu
const LONGEST = 64

export function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  if (PLAIN.test(text)) return text
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  return typeof value === 'string' ? `"${printable(cut.replaceAll('"', '\\"'))}"` : printable(cut)
}

/** Replaces control, bidirectional and other invisible characters by their numbers. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Names in backticks: `a`, `b`. */
export function namesText(names: Iterable<string>, between = ', '): string {
  return [...names].map((name) => `\`${name}\``).join(between)
}
