/**
 * What commands print. Files, logs, tokens and databases bring text along that a terminal would obey, or show in
 * another order than it stands: here all of it passes, and is escaped as JSON escapes it, so that JSON stays what it
 * means.
 */

import { coloured } from './colour.ts'
import { printable } from './quote.ts'

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

/** Why a command ends, on standard error; characters that nobody sees are told too. */
export function tellProblem(text: string): void {
  tell(text.split('\n').map(printable).join('\n'))
}

/** A result in the format that was asked for. */
export function printResult(format: 'text' | 'json', value: unknown, text: string): void {
  printReport(format, format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : text)
}

/** What people read (text, table) has colours on a terminal; what programs read has none. */
export function printReport(format: string, report: string): void {
  const plain = escaped(report)
  process.stdout.write(format === 'text' || format === 'table' ? coloured(plain, process.stdout) : plain)
}

function escaped(text: string): string {
  return text.replaceAll(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
