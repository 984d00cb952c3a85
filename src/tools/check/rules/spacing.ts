/** Finds invisible spaces: at the end of a line, and before a comma of policy.csv. */

import type { Diagnostic, SourceFile } from '../../../base/diagnostic.ts'
import { type CheckedBlocked, type CheckedPolicy, type CodeEntry, type PolicyCheck, warning } from '../check.ts'

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
