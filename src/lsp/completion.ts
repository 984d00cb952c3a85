/** Completes names: those that may stand where the cursor is, each with its meaning. */
import { type CompletionItem, CompletionItemKind } from 'vscode-languageserver'
import { meaningOfName, namesFor } from './names/known-names.ts'
import type { NameKind } from './names/name-slot.ts'
import { slotAt } from './names/slots.ts'
import type { EditorQuestion } from './question.ts'

/** Stands at the cursor, so that an empty place is a name too. It fits every form of name. */
const MARK = 'zzcursorzz'

const KINDS: Readonly<Record<NameKind, CompletionItemKind>> = {
  role: CompletionItemKind.EnumMember,
  resource: CompletionItemKind.Class,
  action: CompletionItemKind.Method,
  relation: CompletionItemKind.Property,
  condition: CompletionItemKind.Event,
  view: CompletionItemKind.Struct,
  field: CompletionItemKind.Field,
}

export function completionsAt({ source, offset, rangeOf, project, known }: EditorQuestion): readonly CompletionItem[] {
  const text = `${source.text.slice(0, offset)}${MARK}${source.text.slice(offset)}`
  // Behind the first letter of the mark, so that a name that ends at the cursor isn't meant.
  const slot = slotAt({ ...source, text }, offset + 1, project.folders, known.resources)
  if (!slot?.name.includes(MARK) || slot.declares) return []
  const range = rangeOf(slot.start, slot.end - MARK.length)
  const names = [...namesFor(slot, known)].map(([name, kind]): CompletionItem => {
    const detail = meaningOfName(kind, name, slot.about, known)
    return { label: name, kind: KINDS[kind], ...(detail && { detail }), textEdit: { range, newText: name } }
  })
  const words = slot.words.map((word): CompletionItem => {
    return { label: word, kind: CompletionItemKind.Keyword, textEdit: { range, newText: word } }
  })
  return [...names, ...words]
}
