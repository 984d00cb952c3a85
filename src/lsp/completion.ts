/** Completes names: those that may stand where the cursor is, each with its meaning. */
import { type CompletionItem, CompletionItemKind } from 'vscode-languageserver'
import { type Offers, offersAt } from './names/offers.ts'
import type { EditorQuestion } from './question.ts'

const KINDS: Readonly<Record<Offers['offers'][number]['kind'], CompletionItemKind>> = {
  role: CompletionItemKind.EnumMember,
  resource: CompletionItemKind.Class,
  action: CompletionItemKind.Method,
  relation: CompletionItemKind.Property,
  condition: CompletionItemKind.Event,
  view: CompletionItemKind.Struct,
  field: CompletionItemKind.Field,
  word: CompletionItemKind.Keyword,
}

export function completionsAt({ source, offset, rangeOf, project, known }: EditorQuestion): readonly CompletionItem[] {
  const found = offersAt(source, offset, project.folders, known)
  if (!found) return []
  const range = rangeOf(found.start, found.end)
  return found.offers.map(({ name, kind, meaning }): CompletionItem => {
    return { label: name, kind: KINDS[kind], ...(meaning && { detail: meaning }), textEdit: { range, newText: name } }
  })
}
