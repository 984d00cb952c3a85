/** An approvals.yaml whose needs tell by their groups what they are for, and the needs of a change under it. */
import type { ChangedPolicy } from '../../src/analysis/approvals/changed-policy.ts'
import { type FoundNeed, needsOf } from '../../src/analysis/approvals/needs.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { newKey } from './public-keys.ts'

const KEYS = [newKey(), newKey()].map(({ line }) => line)

/** `widens`, `narrows`, `blocks`, and one need for each of the resources and files, with a group of its name. */
export function askingFor(resources: readonly string[], files: readonly string[] = []): string {
  const groupOf = (name: string) => name.replaceAll(/[^a-z]/g, '-')
  const ways = ['widens', 'narrows', 'blocks']
  const groups = [...ways, ...resources, ...files].map(groupOf).join(', ')
  const people = KEYS.map((key, i) => `  p${i}: { keys: [${key}], groups: [${groups}] }\n`).join('')
  const needs = ways.map((way) => `  ${way}: { people: 1, from: [${way}] }\n`).join('')
  const touches = [
    ...resources.map((name) => `    - { resource: ${name}, people: 1, from: [${groupOf(name)}] }\n`),
    ...files.map((name) => `    - { file: [${name}], people: 1, from: [${groupOf(name)}] }\n`),
  ]
  return `people:\n${people}needs:\n${needs}  touches:\n${touches.join('')}`
}

/** The groups of the needs, sorted: whom a change asks. */
export function askedBy(before: ChangedPolicy, after: ChangedPolicy, resources: Resources): readonly string[] {
  return groupsOf(needsOf({ before, after }, resources))
}

export function groupsOf(needs: readonly FoundNeed[]): readonly string[] {
  return needs.map(({ from = ['everybody'] }) => from.join()).toSorted()
}
