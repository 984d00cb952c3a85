/** What GitHub reads from a step: its log, annotations, outputs, and the summary of the job. */
import { randomUUID } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { printable } from '../../../present/quote.ts'

/** GitHub shows ten annotations of each level of a step. */
const MOST_SHOWN = 10

/** https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands */
export function command(
  name: 'error' | 'warning' | 'notice' | 'group' | 'endgroup',
  text = '',
  properties: Readonly<Record<string, string | number>> = {},
): string {
  const pairs = Object.entries(properties).map(([key, value]) => `${key}=${escaped(String(value), /[%\r\n:,]/g)}`)
  return `::${name}${pairs.length > 0 ? ` ${pairs.join(',')}` : ''}::${escaped(text, /[%\r\n]/g)}\n`
}

function escaped(text: string, signs: RegExp): string {
  return text.replaceAll(signs, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

/** A part of the log. GitHub obeys no command in it: its text has words of files. */
export function group(title: string, text: string, word: string = randomUUID()): string {
  const quoted = `::stop-commands::${word}\n${text.trimEnd()}\n::${word}::\n`
  return `${command('group', title)}${quoted}${command('endgroup')}`
}

/** Errors first, so that they are among those that GitHub shows. */
export function annotations(findings: readonly Diagnostic[]): string {
  return (['error', 'warning'] as const)
    .flatMap((level) => findings.filter(({ severity }) => severity === level).slice(0, MOST_SHOWN))
    .map(({ severity, file, line, column, code, message, hint }) =>
      command(severity, printable(hint ? `${message} (${hint})` : message), { file, line, col: column, title: code }),
    )
    .join('')
}

/** Appends to the file that GitHub names. Does nothing without GitHub. */
export async function appendTo(file: string | undefined, text: string): Promise<void> {
  if (file) await appendFile(file, text)
}

/** Each is one line, whatever it has. */
export function outputLines(outputs: Readonly<Record<string, string | number>>): string {
  return Object.entries(outputs)
    .map(([name, value]) => `${name}=${printable(String(value))}\n`)
    .join('')
}
