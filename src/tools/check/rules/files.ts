/** About the files as a whole: spaces in names, and resources that the other checks leave out. */
import type { SourceFile } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { isAbout, namesIn } from '../../../decide/rules/terms.ts'
import { findFormerWords } from '../../../policy/former-words.ts'
import { CELL } from '../../../policy/parse/rule-lines.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { check, type FoundAt, type PolicyCheck } from '../check.ts'

export const WHOLE_FILES: readonly PolicyCheck[] = [
  check({
    code: 'trailing-space',
    find: ({ files }) => {
      const { 'policy.csv': rules, 'model.conf': _model, ...yaml } = files
      const inRules = trailingSpaces(rules, /(?<![ \t])[ \t]+(?:$|(?=,(?:[^"]*"[^"]*")*[^"]*$))/)
      return [...inRules, ...Object.values(yaml).flatMap((file) => trailingSpaces(file))]
    },
  }),
  check({
    code: 'rules-undecided',
    find: ({ policy, resources, index, placeOfLine }) =>
      [...index.undecided].flatMap((name) => {
        const resource = resources.byName.get(name)
        const crowded = resource && mostCrowded(policy, resource)
        if (!crowded) return []
        const { action, line, names } = crowded
        const lines = `the lines about \`${action.name}\` on \`${name}\` combine ${names} relations and conditions`
        const message = `${lines}, so the checks that compare lines couldn't decide about \`${name}\``
        const hint = 'name fewer relations and conditions in these lines'
        return [{ at: placeOfLine(line, CELL.relation), message, hint }]
      }),
  }),
  check({
    code: 'former-word',
    find: ({ files }) =>
      findFormerWords(files).map(({ former, now, file, line, column }) => {
        const hint = `write \`${now}\`, or run \`sallyport policy check --fix\``
        return { at: { file, line, column }, message: `\`${former}\` is the former name of \`${now}\``, hint }
      }),
  }),
]

/** `space`: where a space is too much; from the first one, so that a long run of spaces is read once. */
export function trailingSpaces({ name, text }: SourceFile, space = /(?<![ \t])[ \t]+$/): readonly FoundAt[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const column = line.trimStart().startsWith('#') ? 0 : line.search(space) + 1
    if (column === 0) return []
    const at = { file: name, line: index + 1, column }
    return [{ at, message: 'this line has invisible spaces', hint: 'delete them' }]
  })
}

interface Crowded {
  readonly action: Action
  /** How many names the rules about the action have. */
  readonly names: number
  /** The first of the rules with the most names. */
  readonly line: number
}

/** The action whose rules have the most names. */
function mostCrowded(policy: Policy, resource: Resource): Crowded | undefined {
  const crowds = [...resource.actions.values()].map((action) => {
    const rules = policy.rules.filter((rule) => isAbout(rule, { resource, action }))
    const [longest] = rules.toSorted((a, b) => namesIn(b).length - namesIn(a).length)
    return { action, names: new Set(rules.flatMap(namesIn)).size, line: longest?.line ?? 1 }
  })
  return crowds.toSorted((a, b) => b.names - a.names)[0]
}
