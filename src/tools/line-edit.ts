/** A line of a policy file that gets another text: for drafts, so that no client makes lines of policy.csv by itself. */
import type { SourceFile } from '../base/diagnostic.ts'
import { placeForRules } from '../policy/parse/rule-lines.ts'

export interface LineEdit {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** It may be several lines; null takes the line away. */
  readonly text: string | null
}

export function withEdits(text: string, edits: readonly LineEdit[]): string {
  const texts = new Map(edits.map((edit) => [edit.line, edit.text]))
  const lines = text.split('\n').flatMap((line, i) => {
    const edited = texts.get(i + 1)
    return edited === null ? [] : [edited ?? line]
  })
  return lines.join('\n')
}

/** Adds lines where rules are added. */
export function addedLines({ name, text }: SourceFile, added: readonly string[]): LineEdit {
  const line = text.slice(0, placeForRules(text)).split('\n').length
  const last = text.split('\n')[line - 1] ?? ''
  const isRule = placeForRules(text) === text.length && last !== ''
  return { file: name, line, text: (isRule ? [last, ...added] : [...added, last]).join('\n') }
}
