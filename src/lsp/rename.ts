/** Renames a role, relation, view or condition wherever it stands: in all files of the policy, schemas and matrices. */
import { LSPErrorCodes, type Range, ResponseError, type WorkspaceEdit } from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { FileError, formatDiagnostic, type SourceFile } from '../base/diagnostic.ts'
import { parsePolicy } from '../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../policy/policy-files.ts'
import { readStated } from './findings.ts'
import { knownNames, type ProjectNames } from './names/known-names.ts'
import { type NamedThing, type PlaceOfName, placesOf, thingIn } from './names/symbols.ts'
import type { EditorQuestion } from './question.ts'

const RENAMED: ReadonlySet<string> = new Set(['role', 'relation', 'view', 'condition'])

/** What can be renamed at the place: its range; undefined for anything else. */
export function renamedAt({ slot, known, rangeOf }: EditorQuestion): Range | undefined {
  const thing = slot && thingIn(slot, known)
  return slot && thing && RENAMED.has(thing.kind) ? rangeOf(slot.start, slot.end) : undefined
}

/** Throws ResponseError, whose message says why nothing is renamed. */
export async function renameAt(
  question: EditorQuestion,
  newName: string,
  uriOf: (file: string) => string,
): Promise<WorkspaceEdit> {
  const { slot, known, project } = question
  const thing = slot && thingIn(slot, known)
  if (!thing || !RENAMED.has(thing.kind)) throw refused('only a role, a relation, a view or a condition can be renamed')
  refuseMeaningful(thing, newName)
  const sources = await soundSources(question)
  const { folders } = project
  const group = connected(thing, (one) => placesOf(one, sources, folders, known), known)
  const places = placesOf(group, sources, folders, known)
  if (!places.some(({ slot: one }) => one.declares))
    throw refused(`\`${thing.name}\` is declared nowhere: declare it first`)
  const renamed = sources.map((source) => withNewName(source, places, newName))
  refuseCapture({ question, group, places, renamed, newName })
  const changes = sources.flatMap((source) => {
    const here = places.filter((one) => one.source === source)
    const document = TextDocument.create('', '', 0, source.text)
    const edits = here.map(({ slot: { start, end } }) => {
      return { range: { start: document.positionAt(start), end: document.positionAt(end) }, newText: newName }
    })
    return edits.length > 0 ? [[uriOf(source.name), edits] as const] : []
  })
  return { changes: Object.fromEntries(changes) }
}

/** New objects get their owner by this name, and matrices call it `own`. */
function refuseMeaningful({ kind, name }: NamedThing, newName: string): void {
  if (kind === 'relation' && [name, newName].includes('owner')) {
    throw refused('the relation `owner` has a meaning of its own: declare another relation beside it')
  }
}

/** All files with names. Throws ResponseError if one has a fault: names in it could be missed. */
async function soundSources({ files, known, project }: EditorQuestion): Promise<readonly SourceFile[]> {
  const texts = new Map<string, string>()
  try {
    if (files.schemaFaults.length > 0) throw new FileError(files.schemaFaults)
    parsePolicy(known.files, known.resources)
    await readStated(project.folders.matrices, files.open, texts)
  } catch (error) {
    throw error instanceof FileError ? refused(`fix this first: ${firstOf(error)}`) : error
  }
  const matrices = [...texts].map(([name, text]) => ({ name, text }))
  const sources = [...Object.values(known.files), ...files.schemas.sources, ...matrices]
  const marked = sources.find(({ text }) => text.startsWith('\uFEFF'))
  if (marked) throw refused(`save ${marked.name} without a byte order mark first`)
  return sources
}

/** A line about several resources names the relation of each, so these can only be renamed together. */
function connected(
  thing: NamedThing,
  find: (thing: NamedThing) => readonly PlaceOfName[],
  known: ProjectNames,
): NamedThing {
  const met = find(thing).flatMap(({ slot }) => thingIn(slot, known)?.resources ?? [])
  const resources = [...new Set([...thing.resources, ...met])]
  return resources.length === thing.resources.length ? thing : connected({ ...thing, resources }, find, known)
}

function withNewName(source: SourceFile, places: readonly PlaceOfName[], newName: string): SourceFile {
  const here = places.filter((one) => one.source === source).toSorted((a, b) => b.slot.start - a.slot.start)
  const text = here.reduce((all, { slot: { start, end, name } }) => {
    if (all.slice(start, end) !== name) throw new Error(`${source.name} has another name at ${start}`)
    return `${all.slice(0, start)}${newName}${all.slice(end)}`
  }, source.text)
  return here.length === 0 ? source : { ...source, text }
}

interface Renaming {
  readonly question: EditorQuestion
  readonly group: NamedThing
  readonly places: readonly PlaceOfName[]
  /** All files with the new name. */
  readonly renamed: readonly SourceFile[]
  readonly newName: string
}

/** The new name must fit, and must mean nothing else yet: afterwards it stands where the old one stood, and nowhere else. */
function refuseCapture({ question, group, places, renamed, newName }: Renaming): void {
  const { known, files, project } = question
  const byName = new Map(renamed.map((one) => [one.name, one]))
  const policy = Object.entries(known.files).map(([file, source]) => [file, byName.get(source.name) ?? source])
  const after = Object.fromEntries(policy) as unknown as PolicyFiles
  try {
    parsePolicy(after, known.resources)
  } catch (error) {
    throw error instanceof FileError ? refused(`\`${newName}\` can't be the name: ${firstOf(error)}`) : error
  }
  const names = knownNames({ ...files, reading: { ...files.reading, files: () => after } })
  const found = names ? placesOf({ ...group, name: newName }, renamed, project.folders, names) : []
  if (found.length === places.length) return
  const countIn = (some: readonly PlaceOfName[], file: string) =>
    some.filter(({ source }) => source.name === file).length
  const other = renamed.find(({ name }) => countIn(found, name) !== countIn(places, name))
  throw refused(`\`${newName}\` means something else already, as in ${other?.name}: choose another name`)
}

function firstOf({ diagnostics: [first] }: FileError): string {
  return first ? formatDiagnostic(first) : ''
}

function refused(message: string): ResponseError {
  return new ResponseError(LSPErrorCodes.RequestFailed, message)
}
