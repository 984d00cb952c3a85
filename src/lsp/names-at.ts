/** `policy names`: what an editor offers at a place of a saved file, for those who ask without an editor. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Place } from '../base/diagnostic.ts'
import { printable } from '../present/quote.ts'
import { formatsOf } from '../present/report.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import { readPlace, ToolError } from '../tools/load-policy.ts'
import type { FoldersInEditor } from './edited-project.ts'
import { knownNames } from './names/known-names.ts'
import { type Offers, offersAt } from './names/offers.ts'
import { tooLarge } from './workspace.ts'

interface OffersAtPlace extends Pick<Offers, 'offers'> {
  readonly place: Place
  /** UTF-16 code units from the place on, which a name would replace. */
  readonly length: number
}

export interface NamesAsked extends FoldersInEditor {
  /** `file:line:column`. */
  readonly place: string
  /** The folder of a policy whose names count where a file has faults. */
  readonly before: string | undefined
}

/** Throws FileError for broken schemas, and ToolError for a place that isn't there. */
export async function namesAt({ place, before, ...folders }: NamesAsked): Promise<OffersAtPlace> {
  const { file, line, column } = placeIn(place)
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) throw new ToolError(`${file} can't be read: name a file of the policy, schemas or matrices`)
  const large = tooLarge(file, text)
  if (large !== undefined) throw new ToolError(`${file}: ${large}`)
  if (![folders.policies, folders.schemas, folders.matrices].some((one) => resolve(one) === dirname(resolve(file)))) {
    throw new ToolError(`${file} is in no folder that was named: use --policies, --schemas or --matrices`)
  }
  const resources = await loadResources(folders.schemas)
  const namesOf = async (folder: string) => ({ reading: await readPlace(folder), resources })
  const former = before === undefined ? undefined : knownNames(await namesOf(before))
  const known = knownNames(await namesOf(folders.policies), former) ?? former
  if (!known) throw new ToolError(`${folders.policies} lacks files of a policy: run \`sallyport policy check\``)
  const offset = offsetOf(text, line, column)
  if (offset === undefined) throw new ToolError(`${file} has no line ${line} with a column ${column}`)
  const found = offersAt({ name: file, text }, offset, folders, known)
  if (!found) return { place: { file, line, column }, length: 0, offers: [] }
  const begin = column - (offset - found.start)
  return { place: { file, line, column: begin }, length: found.end - found.start, offers: found.offers }
}

function placeIn(text: string): Place {
  const { file, line, column } = /^(?<file>.+):(?<line>\d{1,9}):(?<column>\d{1,9})$/.exec(text)?.groups ?? {}
  if (file !== undefined) return { file, line: Number(line), column: Number(column) }
  throw new ToolError(`${text} is no place: write FILE:LINE:COLUMN, like policies/policy.csv:23:4`)
}

/** Behind the last character of a line, too. */
function offsetOf(text: string, line: number, column: number): number | undefined {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
  const start = starts[line - 1]
  const offset = (start ?? 0) + column - 1
  const end = (starts[line] ?? text.length + 1) - 1
  return start !== undefined && column > 0 && offset <= end ? offset : undefined
}

export const NAMES_FORMATS = formatsOf(({ place, length, offers }: OffersAtPlace) => ({
  text: () => [offers.map(({ name, kind, meaning }) => printable(`${name}  ${kind}${meaning ? `: ${meaning}` : ''}`))],
  /** The shape is in docs/schemas/policy-names.schema.json. */
  json: () => ({
    place,
    length,
    names: offers.map(({ name, kind, meaning }) => ({ name, kind, meaning: meaning ?? null })),
  }),
}))
