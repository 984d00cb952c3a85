/** Quick fixes: what the hint of a finding says to do, where that is one edit of the text. */
import { basename } from 'node:path'
import {
  type CodeAction,
  CodeActionKind,
  DiagnosticSeverity,
  type Range,
  type Diagnostic as Shown,
  type TextEdit,
} from 'vscode-languageserver'
import type { TextDocument } from 'vscode-languageserver-textdocument'

interface Fix {
  readonly title: string
  readonly edit: TextEdit
}

type FindFix = (document: TextDocument, found: SaidFinding) => Fix | undefined

interface SaidFinding {
  readonly shown: Shown
  readonly code: string
  readonly message: string
  readonly hint: string
}

const FIXES: readonly FindFix[] = [writeInstead, deleteCharacters, deleteLine, suppress]

/** The findings as the editor has them, at their places in this text. */
export function fixesFor(document: TextDocument, findings: readonly Shown[]): readonly CodeAction[] {
  return findings
    .filter(({ source }) => source === 'sallyport')
    .flatMap((shown) => {
      const found = FIXES.map((find) => find(document, saidIn(shown))).filter((fix) => fix !== undefined)
      return found.map(({ title, edit }, i): CodeAction => {
        const changes = { [document.uri]: [edit] }
        const isPreferred = i === 0 && !title.startsWith('Suppress')
        return { title, kind: CodeActionKind.QuickFix, diagnostics: [shown], edit: { changes }, isPreferred }
      })
    })
}

/** As diagnose.ts wrote it: the message, and below it the hint. */
function saidIn(shown: Shown): SaidFinding {
  const [message = '', hint = ''] = String(shown.message).split('\n')
  return { shown, code: String(shown.code), message, hint }
}

/** Only in place of a word that the message names, so that nothing else is lost. */
function writeInstead(document: TextDocument, { shown: { range }, message, hint }: SaidFinding): Fix | undefined {
  const meant = /did you mean `([^`]+)`\?/.exec(hint)?.[1] ?? /^write `([^`]+)`/.exec(hint)?.[1]
  const word = document.getText(range)
  if (meant === undefined || word === '' || !message.includes(`\`${word}\``)) return undefined
  return { title: `Write ${meant}`, edit: { range, newText: meant } }
}

const TOO_MUCH: Readonly<Record<string, RegExp>> = { 'trailing-space': /^[ \t]+/, 'invisible-character': /^./su }

function deleteCharacters(document: TextDocument, { shown, code }: SaidFinding): Fix | undefined {
  const start = document.offsetAt(shown.range.start)
  const length = TOO_MUCH[code]?.exec(document.getText().slice(start))?.[0].length
  if (length === undefined) return undefined
  const range = { start: shown.range.start, end: document.positionAt(start + length) }
  return { title: 'Delete what is invisible', edit: { range, newText: '' } }
}

const DELETES_LINE = /^(?:delete|remove) (?:the line|the comment|it|one of them|one of the g lines)\b/
/** Elsewhere, what the finding is about may have several lines. */
const OF_LINES: ReadonlySet<string> = new Set(['policy.csv', 'blocked.txt'])

function deleteLine(document: TextDocument, { shown, code, hint }: SaidFinding): Fix | undefined {
  const isOfLine = OF_LINES.has(basename(new URL(document.uri).pathname)) || code === 'suppression-unused'
  if (!isOfLine || code in TOO_MUCH || !DELETES_LINE.test(hint)) return undefined
  const { line } = shown.range.start
  const range: Range = { start: { line, character: 0 }, end: { line: line + 1, character: 0 } }
  return { title: 'Delete the line', edit: { range, newText: '' } }
}

/** The reason is left to the person: until it is written, `suppression-form` asks for it. */
function suppress(document: TextDocument, { shown, code }: SaidFinding): Fix | undefined {
  if (shown.severity !== DiagnosticSeverity.Warning || code.startsWith('suppression-')) return undefined
  const start = { line: shown.range.start.line, character: 0 }
  const line = document.getText({ start, end: { line: start.line + 1, character: 0 } })
  const indent = /^[ \t]*/.exec(line)?.[0] ?? ''
  const edit = { range: { start, end: start }, newText: `${indent}# check-ignore ${code}: \n` }
  return { title: `Suppress ${code} here, with a reason`, edit }
}
