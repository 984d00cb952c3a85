/** The files of a policy without one part, edited as text: nothing here shares code with `policy usage`. */
import { parse, stringify } from 'yaml'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import type { Resources } from '../../src/resources/resource.ts'
import type { PolicyPart } from '../../src/tools/usage/parts.ts'

/** Commas. */
const OUTSIDE_QUOTES = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/

export function filesWithout(files: PolicyFiles, part: PolicyPart, { byName }: Resources): PolicyFiles {
  if (part.kind === 'field') {
    const views = parse(files['views.yaml'].text) as Record<string, Record<string, string[]>>
    const named = views[part.resource] ?? {}
    named[part.view] = (named[part.view] ?? []).filter((name) => name !== part.name)
    return { ...files, 'views.yaml': { ...files['views.yaml'], text: stringify(views) } }
  }
  const csv = files['policy.csv']
  const lines = csv.text.split('\n')
  const cells = (lines[part.of.line - 1] ?? '').split(OUTSIDE_QUOTES).map((cell) => cell.trim())
  const [actions = '', relations = '', views = ''] = cells.slice(3)
  const dropped = (cell: string, name: string, between = '|') => {
    const names = cell.split(between).map((one) => one.trim())
    return names.filter((one) => one !== name).join(between)
  }
  const covered = [...byName.values()].filter(({ name, builtIn }) => {
    return cells[2] === name || (name !== 'system/policy' && cells[2] === (builtIn ? 'system/*' : '*'))
  })
  const declared = [...new Set(covered.flatMap((one) => [...one.actions.keys()]))].join('|')
  const [left = '', right] = relations.split('>')
  const edited = {
    line: () => [],
    action: () => cells.with(3, dropped(actions.trim() === '*' ? declared : actions, part.name)),
    view: () => cells.with(5, dropped(views, part.name)),
    term: () => {
      const isRight = part.name.startsWith('>')
      const before = isRight ? left : dropped(left, part.name, '+') || 'any'
      const after = isRight ? dropped(right ?? '', part.name.slice(1), '+') : right
      return cells.with(4, after ? `${before}>${after}` : before)
    },
  }[part.kind]()
  const text = lines.with(part.of.line - 1, edited.join(',')).join('\n')
  return { ...files, 'policy.csv': { ...csv, text } }
}
