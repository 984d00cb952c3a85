/** About the files as a whole: spaces in names, and resources that the other checks leave out. */
import type { Diagnostic, SourceFile } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { isAbout, namesIn } from '../../../decide/rules/terms.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { CELL, type CheckedBlocked, type CheckedPolicy, type CodeEntry, type PolicyCheck, warning } from '../check.ts'

const codes: readonly CodeEntry[] = [
  {
    code: 'trailing-space',
    meaning: 'A line has a space or tab at its end or before a comma: it means nothing, and appears in diffs',
    mend: 'Delete it',
  },
]

export const spacesInPolicy: PolicyCheck<CheckedPolicy> = {
  codes,
  find: ({ files }) => {
    const { 'policy.csv': rules, 'model.conf': _model, ...yaml } = files
    const inRules = trailingSpaces(rules, (line) => line.search(/[ \t]+$|[ \t]+(?=,(?:[^"]*"[^"]*")*[^"]*$)/))
    return [...inRules, ...Object.values(yaml).flatMap((file) => trailingSpaces(file, atEnd))]
  },
}

export const spacesInBlocked: PolicyCheck<CheckedBlocked> = {
  codes,
  find: ({ file }) => trailingSpaces(file, atEnd),
}

function atEnd(line: string): number {
  return line.search(/[ \t]+$/)
}

function trailingSpaces({ name, text }: SourceFile, find: (line: string) => number): readonly Diagnostic[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const at = line.trimStart().startsWith('#') ? -1 : find(line)
    if (at < 0) return []
    const place = { file: name, line: index + 1, column: at + 1 }
    return [warning(place, 'trailing-space', 'this line has invisible spaces', 'delete them')]
  })
}

// ---- Says which resources the other checks leave out, because their rules tell too many situations apart.

export const undecidedResources: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'rules-undecided',
      meaning:
        'The lines about the resource combine so many relations and conditions that the checks which compare lines ' +
        'leave the resource out: `self-grant`, `write-beyond-read`, `route-unreached`, `schema-tells`, ' +
        '`rule-never-matches`, `transition-without-field` and lines without effect. Requests are decided as always',
      mend: 'Name fewer relations and conditions in the lines about this action',
    },
  ],
  find: ({ policy, resources, index, placeOfLine }) =>
    [...index.undecided].flatMap((name) => {
      const resource = resources.byName.get(name)
      const crowded = resource && mostCrowded(policy, resource)
      if (!crowded) return []
      const { action, line, names } = crowded
      const lines = `the lines about \`${action.name}\` on \`${name}\` combine ${names} relations and conditions`
      const message = `${lines}, so the checks that compare lines couldn't decide about \`${name}\``
      const hint = 'name fewer relations and conditions in these lines'
      return [warning(placeOfLine(line, CELL.relation), 'rules-undecided', message, hint)]
    }),
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
