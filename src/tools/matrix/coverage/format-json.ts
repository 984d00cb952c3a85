/** Coverage for programs; docs/schemas/matrix-coverage.schema.json is its shape. */
import { type Coverage, percentOf } from './coverage.ts'

export function formatJson({
  cells,
  unasked,
  rules,
  relations,
  views,
  mistakes,
  unmet,
  unpredictable,
}: Coverage): string {
  const json = {
    cells: measured(cells),
    unasked,
    rules: measured(rules),
    relations: measured(relations),
    views: measured(views),
    mistakes,
    unmet,
    unpredictable,
  }
  return `${JSON.stringify(json, undefined, 2)}\n`
}

function measured<T extends { readonly covered: boolean }>(parts: readonly T[]) {
  const missing = parts.filter(({ covered }) => !covered).map(({ covered, ...part }) => part)
  return { total: parts.length, covered: parts.length - missing.length, percent: percentOf(parts), missing }
}
