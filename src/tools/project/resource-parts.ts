/** What a pattern adds to a project: a schema, and lines in the files of the policy. */
import type { NewFile } from '../../base/files/new-files.ts'
import { type Policy, USERS } from '../../decide/policy.ts'
import type { PolicyFiles, RequiredFileName } from '../../policy/policy-files.ts'
import { packageFiles } from './package-files.ts'

/** Each is a folder of templates/resources/. */
export type Pattern = 'own' | 'team' | 'public-read'

export interface PatternWish {
  readonly resource: string
  readonly pattern: Pattern
  /** The role that works with the objects. */
  readonly role: string
}

/** The lines that a pattern adds to each file of a policy, in the order of the files: each needs those before it. */
const ADDED: Readonly<Record<string, RequiredFileName>> = {
  'roles.yaml': 'roles.yaml',
  'ownership.yaml': 'ownership.yaml',
  'views.yaml': 'views.yaml',
  'rules.csv': 'policy.csv',
}

/** Texts by their names in the folder of the pattern. */
export type FilledParts = ReadonlyMap<string, string>

export async function partsOfPattern({ resource, pattern, role }: PatternWish, policy: Policy): Promise<FilledParts> {
  const values: Readonly<Record<string, string>> = { resource, role, title: titleOf(resource) }
  const parts = await filledParts(`templates/resources/${pattern}`, values)
  return new Map([...parts].map(([name, text]) => [name, hasTenants(policy) ? withTenant(name, text) : text]))
}

/** Whether users have tenants, which rules keep apart: then each resource declares its tenant. */
function hasTenants({ ownership }: Policy): boolean {
  return ownership.get(USERS)?.relations.has('tenant') ?? false
}

/** The files of a folder of templates, with these values in their places. */
export async function filledParts(folder: string, values: Readonly<Record<string, string>>): Promise<FilledParts> {
  const files = await packageFiles(folder)
  const filled = (text: string) => text.replaceAll(/\{\{(\w+)\}\}/g, (all, key: string) => values[key] ?? all)
  return new Map(files.map(({ name, text }) => [name, filled(text)]))
}

function titleOf(resource: string): string {
  const words = resource.replace(/s$/, '').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const TENANT = `    "tenantId": {
      "description": "The tenant of the caller when not given.",
      "type": "string",
      "minLength": 1,
      "maxLength": 128,
      "x-index": true
    },
`

function withTenant(name: string, text: string): string {
  if (name === 'schema.json') return text.replace(/(?=^ {4}"ownerId":)/m, TENANT)
  if (name !== 'ownership.yaml') return text
  return `${text}    tenant: { field: tenantId, equals: subject.tenant, fill: true }\n`
}

/** The files that lack their lines, with them. */
export function changedFiles(files: PolicyFiles, parts: FilledParts): readonly NewFile[] {
  return Object.entries(ADDED).flatMap(([part, name]) => {
    const added = parts.get(part)
    const { text } = files[name]
    return added === undefined || text.includes(added) ? [] : [{ name, text: withLines(name, text, added) }]
  })
}

/** New rules stand before the last comment of policy.csv, which marks its end; the other files grow at their ends. */
function withLines(name: RequiredFileName, text: string, added: string): string {
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`
  const end = name === 'policy.csv' ? (/\n(?:#.*\n)+$/.exec(whole)?.index ?? -1) + 1 : 0
  const at = end > 0 ? end : whole.length
  return `${whole.slice(0, at)}${name === 'policy.csv' ? '\n' : ''}${added}${whole.slice(at)}`
}

/** Whether a file that lacks its lines mentions the resource: then somebody has changed these lines. */
export function mentions(files: PolicyFiles, changed: readonly NewFile[], resource: string): boolean {
  const word = new RegExp(`(?<![\\w-])${resource}(?![\\w-])`)
  const lines = changed.flatMap(({ name }) => files[name as RequiredFileName].text.split('\n'))
  return lines.some((line) => !line.startsWith('#') && word.test(line))
}
