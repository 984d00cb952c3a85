/**
 * What commands print. Files, logs, tokens and databases bring text along that a terminal would obey, or show in another
 * order than it stands: here all of it passes, and is escaped as JSON escapes it, so that JSON stays what it means.
 */

/** Control characters but line ends and tabs, and what turns the direction of writing (Unicode UAX 9). */
const OBEYED = /\r(?!\n)|(?![\t\n\r])\p{Cc}|[\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** What was asked for, on standard output. */
export function print(text: string): void {
  process.stdout.write(escaped(text))
}

/** What is to be said about it, on standard error. */
export function tell(text: string): void {
  process.stderr.write(escaped(text))
}

function escaped(text: string): string {
  return text.replaceAll(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
