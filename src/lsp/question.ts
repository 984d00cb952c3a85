/** A question of an editor about a place in a file, with what is known of the project at that moment. */
import { relative } from 'node:path'
import type { Position, Range } from 'vscode-languageserver'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import type { SourceFile } from '../base/diagnostic.ts'
import type { EditedFiles, EditedProject } from './edited-project.ts'
import { knownNames, type ProjectNames } from './names/known-names.ts'
import type { NameSlot } from './names/name-slot.ts'
import { slotAt } from './names/slots.ts'
import { tooLarge, type Workspace } from './workspace.ts'

export interface EditorQuestion {
  readonly project: EditedProject
  readonly files: EditedFiles
  readonly known: ProjectNames
  /** The open text, under the name that findings use. */
  readonly source: SourceFile
  /** In the text; 0 for a question about the whole file. */
  readonly offset: number
  /** The name at the place, if one stands there. */
  readonly slot: NameSlot | undefined
  rangeOf(start: number, end: number): Range
}

const known = new WeakMap<EditedProject, ProjectNames>()

/** Undefined where nothing can be answered: no file of a project, or a project that can't be read yet. */
export async function questionAbout(
  workspace: Workspace,
  document: TextDocument | undefined,
  position: Position = { line: 0, character: 0 },
): Promise<EditorQuestion | undefined> {
  const path = document && workspace.pathOf(document.uri)
  const project = path === undefined ? undefined : workspace.projectOf(path)
  if (!document || path === undefined || !project) return undefined
  const open = workspace.openTexts()
  if ([...open].some(([file, text]) => tooLarge(file, text) !== undefined)) return undefined
  const files = await project.read(open)
  const names = knownNames(files, known.get(project))
  if (!names) return undefined
  known.set(project, names)
  const source = { name: relative(process.cwd(), path), text: document.getText() }
  const offset = document.offsetAt(position)
  return {
    project,
    files,
    known: names,
    source,
    offset,
    slot: slotAt(source, offset, project.folders, names.resources),
    rangeOf: (start, end) => ({ start: document.positionAt(start), end: document.positionAt(end) }),
  }
}
