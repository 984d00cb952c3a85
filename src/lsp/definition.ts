/** Where a name is declared: in a file of the policy, or in a schema. */
import type { Location } from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { placesInSchemas, placesOf, thingIn } from './names/symbols.ts'
import type { EditorQuestion } from './question.ts'

type UriOf = (file: string) => string

export function definitionsOf(question: EditorQuestion, uriOf: UriOf): readonly Location[] {
  const { slot, known, files, project } = question
  const thing = slot && thingIn(slot, known)
  if (!thing) return []
  const { folders } = project
  const locationOf = (name: string, text: string, start: number, end: number): Location => {
    const document = TextDocument.create('', '', 0, text)
    return { uri: uriOf(name), range: { start: document.positionAt(start), end: document.positionAt(end) } }
  }
  const declared = placesOf(thing, Object.values(known.files), folders, known).filter(({ slot: one }) => one.declares)
  if (declared.length > 0) {
    return declared.map(({ source, slot: one }) => locationOf(source.name, source.text, one.start, one.end))
  }
  if (!['resource', 'action', 'field'].includes(thing.kind)) return []
  return placesInSchemas(thing, files.schemas.sources, folders).map(({ source, offset }) =>
    locationOf(source.name, source.text, offset, offset),
  )
}
