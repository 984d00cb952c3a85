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
