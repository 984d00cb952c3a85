/** What each changed line means, beside the line. */
import { basename, dirname, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InlayHint, Position, Range } from 'vscode-languageserver'
import type { ChangedLines } from '../tools/diff/changed-lines.ts'
import { lastLineOf, lineMeanings } from '../tools/diff/line-meanings.ts'
import type { TextsByFile } from './committed.ts'
import type { EditorQuestion } from './question.ts'

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
  const { source, project, known, files } = question
  const file = basename(source.name)
  if (!before || dirname(resolve(source.name)) !== resolve(project.folders.policies)) return []
  const hints: InlayHint[] = []
  const present = { files: known.files, blocked: files.reading.blocked(), resources: known.resources, now: Date.now() }
  for (const { part, says } of lineMeanings(present, file, before.get(file) ?? '', (one) => isIn(range, one))) {
    hints.push({ position: endOf(question, part), paddingLeft: true, ...labelOf(says) })
    await nextTurn()
    if (isCancelled()) return []
  }
  return hints
}

const MOST_TOLD = 12

/** The first sentence, and all of them for who points at it. */
function labelOf(says: readonly string[]): Pick<InlayHint, 'label' | 'tooltip'> {
  const [first = '', ...more] = says
  if (more.length === 0) return { label: first }
  const further = says.length - MOST_TOLD
  const shown = [...says.slice(0, MOST_TOLD), ...(further > 0 ? [`and ${further} more`] : [])]
  return { label: `${first} (and ${more.length} more)`, tooltip: shown.join('\n') }
}

function isIn({ start, end }: Range, part: ChangedLines): boolean {
  return part.line <= end.line && lastLineOf(part) >= start.line
}

/** Behind the last new line; for lines that are gone, behind the line before them. */
function endOf({ source }: EditorQuestion, part: ChangedLines): Position {
  const line = lastLineOf(part)
  const text = source.text.split('\n')[line] ?? ''
  return { line, character: text.replace(/\r$/, '').length }
}
