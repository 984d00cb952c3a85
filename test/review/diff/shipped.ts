/** The shipped policy with edits, as a person would make them. */

import { type PolicyDiff, reportOn } from '../../../src/analysis/diff/compare-policies.ts'
import type { SourceFile } from '../../../src/base/diagnostic.ts'
import { parseBlocked } from '../../../src/policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { type PolicyFiles, readBlockedFile, readPolicyFiles } from '../../../src/policy/policy-files.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import type { LoadedPolicy } from '../../../src/tools/load-policy.ts'
import { withRules } from '../../policy-text.ts'

/** Text by file: `[found, put]`, found exactly once; an empty `found` adds lines at the end. */
export type Edits = Readonly<Record<string, readonly (readonly [found: string, put: string])[]>>

export const POLICIES = pathOf('policies')
export const SCHEMAS = pathOf('schemas')

export const resources = await loadResources(SCHEMAS)
const shippedFiles = await readPolicyFiles(POLICIES)
const shippedBlocked = await readBlockedFile(POLICIES)

export function reportOnEdits(edits: Edits, first: Edits = {}, now = 0): PolicyDiff {
  return reportOn({ before: 'old', after: 'new' }, { before: edited(first), after: edited(edits) }, { resources, now })
}

/** Throws where an edit doesn't fit the shipped text. */
export function applyEdits(text: string, edits: readonly (readonly [string, string])[]): string {
  return edits.reduce((before, [found, put]) => {
    if (found === '') return withRules(before, put)
    if (before.split(found).length !== 2) throw new Error(`the text has not exactly one ${found}`)
    return before.replace(found, () => put)
  }, text)
}

export function edited(edits: Edits): LoadedPolicy {
  const rewrite = ({ name, text }: SourceFile, file: string) => ({ name, text: applyEdits(text, edits[file] ?? []) })
  const files = Object.fromEntries(
    Object.entries(filesToEdit(edits)).map(([name, file]) => [name, rewrite(file, name)]),
  ) as unknown as PolicyFiles
  const blockedFile = rewrite(shippedBlocked, 'blocked.txt')
  return { policy: parsePolicy(files, resources), blocked: parseBlocked(blockedFile), files, blockedFile }
}

/** The optional files aren't shipped. */
function filesToEdit(edits: Edits): PolicyFiles {
  const optional = ['masks.yaml', 'conditions.yaml', 'callers.yaml', 'approvals.yaml', 'subscriptions.yaml']
  const added = optional.filter((name) => edits[name])
  return { ...shippedFiles, ...Object.fromEntries(added.map((name) => [name, { name, text: '' }])) }
}

function pathOf(name: string): string {
  return new URL(`../../../${name}`, import.meta.url).pathname
}
