/** What an export tells on standard error. */
import { printable } from '../../../present/quote.ts'
import { count } from '../../../present/text.ts'
import type { ExportedResource } from './export-data.ts'

export function exportText(exported: readonly ExportedResource[]): string {
  const lines = exported.map(({ resource, objects, refused }) => {
    return refused === undefined ? `${resource}: ${count(objects, 'object')}` : `${resource}: nothing, ${refused}`
  })
  return `${lines.map(printable).join('\n')}\n`
}
