/** Places of diagnostics as ranges of an editor: lines and UTF-16 code units from 0. */
import type { Range } from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import type { Diagnostic } from '../base/diagnostic.ts'

/** What a finding may be about, where it begins: a quoted value, a cell of CSV, or a word. */
const QUOTED = /"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\r\n]|'')*'/y
const CELL = /[^,;\r\n]*[^,;\s]/y
const LINE = /.*/y
const WORD = /[^\s,;:#[\]{}]+/y

/** Ranges of the findings in one text. */
export function rangesIn(text: string): (finding: Diagnostic) => Range {
  const document = TextDocument.create('', '', 0, text)
  // A carriage return alone ends a line for editors, but not for those who count the lines of findings.
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
  return (finding) => {
    const start = Math.min((starts[finding.line - 1] ?? text.length) + finding.column - 1, text.length)
    const [from, to] = spanAt(text, start, finding)
    return { start: document.positionAt(from), end: document.positionAt(to) }
  }
}

/** A word that the message quotes, if it stands in what begins at `start`, or behind a key of YAML; otherwise all of that. */
function spanAt(text: string, start: number, { file, message }: Diagnostic): readonly [number, number] {
  const isTable = file.endsWith('.csv')
  const whole = matchAt(QUOTED, text, start) || matchAt(isTable ? CELL : WORD, text, start)
  const named = [...message.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)
  for (const within of [whole, isTable ? '' : matchAt(LINE, text, start)]) {
    const word = named.find((one) => wordIn(within, one) >= 0)
    if (word !== undefined) return [start + wordIn(within, word), start + wordIn(within, word) + word.length]
  }
  // Never empty: an editor would show nothing.
  return [start, start + Math.max(whole.length, 1)]
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/** Where `word` stands alone, and not as a part of another word. */
function wordIn(text: string, word: string): number {
  const isPart = (character: string | undefined) => character !== undefined && /[\w-]/.test(character)
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) return at
  }
  return -1
}
