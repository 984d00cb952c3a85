/** The names in any file of a project. */
import { basename, dirname, resolve } from 'node:path'
import type { SourceFile } from '../../base/diagnostic.ts'
import type { Resources } from '../../resources/resource.ts'
import type { FoldersInEditor } from '../edited-project.ts'
import { slotsOfMatrix } from './matrix-slots.ts'
import type { NameSlot } from './name-slot.ts'
import { slotsOfRules } from './rule-slots.ts'
import { slotsOfSchema } from './schema-slots.ts'
import { slotsOfCases, slotsOfYaml } from './yaml-slots.ts'

/** The one at an offset, or that ends there. A line of rules stands for itself, and a file may have ten thousand. */
export function slotAt(
  source: SourceFile,
  offset: number,
  folders: FoldersInEditor,
  resources: Resources,
): NameSlot | undefined {
  const { name, text } = source
  const isRules = basename(name) === 'policy.csv'
  const start = isRules ? text.lastIndexOf('\n', offset - 1) + 1 : 0
  const end = isRules ? text.indexOf('\n', offset) : -1
  const part = { name, text: text.slice(start, end < 0 ? text.length : end) }
  const at = offset - start
  const found = slotsOf(part, folders, resources).find((slot) => slot.start <= at && at <= slot.end)
  return found && { ...found, start: found.start + start, end: found.end + start }
}

export function slotsOf(source: SourceFile, folders: FoldersInEditor, resources: Resources): readonly NameSlot[] {
  const file = basename(source.name)
  const isIn = (folder: string) => dirname(resolve(source.name)) === resolve(folder)
  if (isIn(folders.policies)) {
    return file === 'policy.csv' ? slotsOfRules(source, resources) : slotsOfYaml(file, source.text)
  }
  if (isIn(folders.schemas)) return file.endsWith('.json') ? slotsOfSchema(source) : []
  if (!isIn(folders.matrices)) return []
  if (/\.csv$/i.test(file)) return slotsOfMatrix(source, resources)
  return /\.ya?ml$/i.test(file) ? slotsOfCases(source.text, resources) : []
}
