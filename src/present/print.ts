/**
 * Prints the output of commands. Files, logs, tokens and databases may contain text that a terminal would obey, or
 * would show in another order: all output passes through here, and is escaped as in JSON, so that JSON keeps its
 * meaning. Secrets that stand in a setting by mistake are hidden, except in stored objects.
 */

import { commandProcess, environment } from '../base/command-process.ts'
import { coloured } from './colour.ts'
import { withCommands } from './invocation.ts'
import { printable } from './quote.ts'
import { secretsHiddenOf } from './without-secrets.ts'

/** Control characters except line ends and tabs, and characters that change the direction of text (Unicode UAX 9). */
const OBEYED = /\r(?!\n)|(?![\t\n\r])\p{Cc}|[\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Prints the requested result on standard output. */
export function print(text: string): void {
  commandProcess().stdout.write(escaped(text))
}

/** Prints stored objects on standard output: nothing of them is hidden. */
export function printObjects(text: string): void {
  commandProcess().stdout.write(withoutObeyed(text))
}

/** Prints remarks about it on standard error. */
export function printNote(text: string): void {
  commandProcess().stderr.write(escaped(withCommands(text)))
}

/** Prints on standard error why a command ends; invisible characters are shown too. */
export function printProblem(text: string): void {
  printNote(text.split('\n').map(printable).join('\n'))
}

/** Prints a result in the requested format. */
export function printResult(format: 'text' | 'json', value: unknown, text: string): void {
  printReport(format, format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : text)
}

/**
 * Prints a report. Formats for people (text, table) name commands as they can be typed here, and have colours on a
 * terminal; formats for programs have neither.
 */
export function printReport(format: string, report: string): void {
  const isForPeople = format === 'text' || format === 'table'
  const { stdout } = commandProcess()
  stdout.write(isForPeople ? coloured(escaped(withCommands(report)), stdout) : escaped(report))
}

function escaped(text: string): string {
  return withoutObeyed(secretsHiddenOf(environment())(text))
}

function withoutObeyed(text: string): string {
  return text.replaceAll(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
