/** The folder that an editor has open, the texts in it, and the projects that they belong to. */
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import { isWithin } from '../base/files/project-file.ts'
import { EditedProject, type FoldersInEditor, type OpenTexts } from './edited-project.ts'

/** UTF-16 code units. A policy of 100,000 rules has a third of them. */
const MOST_CHARACTERS = 16 * 1024 * 1024
/** Of one line, but of JSON, which may have no lines: some checks look at each part of a line again and again. */
const MOST_IN_LINE = 20_000

/** Why a text isn't looked at; undefined for a text that is. */
export function tooLarge(path: string, text: string): string | undefined {
  if (text.length > MOST_CHARACTERS) return `the file has more than ${MOST_CHARACTERS} characters`
  if (path.endsWith('.json')) return undefined
  for (let [from, to] = [0, 0]; to >= 0; from = to + 1) {
    to = text.indexOf('\n', from)
    if ((to < 0 ? text.length : to) - from > MOST_IN_LINE) return `a line has more than ${MOST_IN_LINE} characters`
  }
  return undefined
}

export class Workspace {
  readonly #folders: FoldersInEditor
  /** As the editor names it, maybe through links; the current folder is the same without links. */
  readonly #named: string
  readonly #projects = new Map<string, EditedProject>()
  readonly #documents: { all(): readonly TextDocument[] }

  constructor(root: string, folders: FoldersInEditor, documents: { all(): readonly TextDocument[] }) {
    this.#named = root
    this.#folders = folders
    this.#documents = documents
  }

  get projects(): readonly EditedProject[] {
    return [...this.#projects.values()]
  }

  /** Undefined for what is no file, or no file of this folder. */
  pathOf(uri: string): string | undefined {
    const path = filePathOf(uri)
    if (path === undefined) return undefined
    const inside = [this.#named, process.cwd()].find((folder) => isWithin(path, folder))
    return inside === undefined ? undefined : resolve(relative(inside, path))
  }

  /** Undefined for a file that isn't open. */
  documentAt(path: string): TextDocument | undefined {
    return this.#documents.all().find(({ uri }) => this.pathOf(uri) === path)
  }

  /** As the editor wrote it, if it has the file open. */
  uriOf(path: string): string {
    return this.documentAt(path)?.uri ?? pathToFileURL(join(this.#named, relative(process.cwd(), path))).href
  }

  openTexts(): OpenTexts {
    return new Map(
      this.#documents.all().flatMap((document) => {
        const path = this.pathOf(document.uri)
        return path === undefined ? [] : [[path, document.getText()] as const]
      }),
    )
  }

  /** The nearest folder above the file whose folders have it; undefined for a file that no project reads. */
  projectOf(path: string): EditedProject | undefined {
    for (const folder of foldersAbove(path)) {
      const project = this.#projects.get(folder) ?? new EditedProject(this.#foldersIn(folder))
      if (!project.has(path)) continue
      this.#projects.set(folder, project)
      return project
    }
    return undefined
  }

  #foldersIn(folder: string): FoldersInEditor {
    const from = (name: string) => relative(process.cwd(), resolve(folder, name)) || '.'
    const { policies, schemas, matrices } = this.#folders
    return { policies: from(policies), schemas: from(schemas), matrices: from(matrices) }
  }
}

/** Undefined for another scheme, a file of another machine, and what can't be a path here. */
function filePathOf(uri: string): string | undefined {
  try {
    return URL.parse(uri)?.protocol === 'file:' ? fileURLToPath(uri) : undefined
  } catch {
    return undefined
  }
}

/** The nearest first, up to the current folder. */
function* foldersAbove(path: string): Generator<string> {
  for (let [below, folder] = [path, dirname(path)]; below !== folder; [below, folder] = [folder, dirname(folder)]) {
    if (!isWithin(folder, process.cwd())) return
    yield folder
  }
}
