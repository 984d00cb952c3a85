/** What each changed line means, beside the line: the sentences of `policy diff` from the policy without this change. */
import { basename, dirname, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InlayHint, Position, Range } from 'vscode-languageserver'
import { changeSentence, type Direction, directionOf, type PolicyDifference } from '../analysis/diff/change.ts'
import { Incomparable } from '../analysis/diff/compare-decisions.ts'
import { comparePolicies } from '../analysis/diff/compare-policies.ts'
import { FileError } from '../base/diagnostic.ts'
import { parseBlocked } from '../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../policy/parse/parse-policy.ts'
import { plainText } from '../present/phrase.ts'
import { type ChangedLines, changedParts, eachLine, takenBack } from './changed-lines.ts'
import type { TextsByFile } from './committed.ts'
import type { EditorQuestion } from './question.ts'

/** Further changed lines are left to `policy diff`. */
const MOST_HINTS = 20

interface HintsWanted {
  readonly range: Range
  readonly before: TextsByFile | undefined
  readonly isCancelled: () => boolean
}

/** None while the policy has errors. */
export async function meaningsIn(
  question: EditorQuestion,
  { range, before, isCancelled }: HintsWanted,
): Promise<InlayHint[]> {
  const { source, project } = question
  const file = basename(source.name)
  if (!before || dirname(resolve(source.name)) !== resolve(project.folders.policies)) return []
  const isTable = file === 'policy.csv' || file === 'blocked.txt'
  const parts = changedParts(before.get(file) ?? '', source.text) ?? []
  const seen = (isTable ? parts.flatMap(eachLine) : parts).filter((part) => isIn(range, part) && saysSomething(part))
  const hints: InlayHint[] = []
  const present = policyWith(question, file, source.text)
  for (const part of present ? seen.slice(0, MOST_HINTS) : []) {
    await nextTurn()
    if (isCancelled()) return []
    const hint = present && hintFor(question, part, { file, present })
    if (hint) hints.push(hint)
  }
  return hints
}

type JudgedTexts = NonNullable<ReturnType<typeof policyWith>>

/** Undefined for files with a fault. */
function policyWith({ known, files }: EditorQuestion, file: string, text: string) {
  try {
    const blocked = file === 'blocked.txt' ? { name: file, text } : files.reading.blocked()
    const replaced = file in known.files ? { ...known.files, [file]: { name: file, text } } : known.files
    return { policy: parsePolicy(replaced, known.resources), blocked: parseBlocked(blocked) }
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function hintFor(
  question: EditorQuestion,
  part: ChangedLines,
  { file, present }: { readonly file: string; readonly present: JudgedTexts },
): InlayHint | undefined {
  const without = policyWith(question, file, takenBack(question.source.text, part))
  const circumstances = { resources: question.known.resources, now: Date.now() }
  const position = endOf(question, part)
  if (!without) return { position, label: 'means something only with other changes', paddingLeft: true }
  try {
    const label = labelOf(comparePolicies({ before: without, after: present }, circumstances))
    return { position, paddingLeft: true, ...label }
  } catch (error) {
    if (error instanceof Incomparable) return { position, label: error.message, paddingLeft: true }
    throw error
  }
}

const VERBS: Readonly<Record<Direction, string>> = {
  widening: 'widens',
  narrowing: 'narrows',
  either: 'widens or narrows',
  neutral: 'changes no decision',
}

const MOST_TOLD = 12

/** The first sentence, and all of them for who points at it. */
function labelOf(changes: readonly PolicyDifference[]): Pick<InlayHint, 'label' | 'tooltip'> {
  const said = changes.map((one) => `${VERBS[directionOf(one)]}: ${plainText(changeSentence(one))}`)
  const [first, ...more] = said
  if (first === undefined) return { label: VERBS.neutral }
  const shown = [
    ...said.slice(0, MOST_TOLD),
    ...(said.length > MOST_TOLD ? [`and ${said.length - MOST_TOLD} more`] : []),
  ]
  return { label: more.length === 0 ? first : `${first} (and ${more.length} more)`, tooltip: shown.join('\n') }
}

function isIn({ start, end }: Range, { line, after }: ChangedLines): boolean {
  return line <= end.line && Math.max(line + after.length - 1, 0) >= start.line
}

/** A change of comments and empty lines alone says nothing. */
function saysSomething({ before, after }: ChangedLines): boolean {
  return [...before, ...after].some((text) => !/^\s*(?:#|$)/.test(text))
}

/** Behind the last new line; for lines that are gone, behind the line before them. */
function endOf({ source }: EditorQuestion, { line, after }: ChangedLines): Position {
  const last = Math.max(line + after.length - 1, 0)
  const text = source.text.split('\n')[last] ?? ''
  return { line: last, character: text.replace(/\r$/, '').length }
}
