/** Documents of the shipped files, or of files that replace some of them, without a server. */
import { readdirSync, readFileSync } from 'node:fs'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { accessOf, wholeAccess } from '../../src/server/openapi/access.ts'
import { makeDocument } from '../../src/server/openapi/document.ts'
import type { PolicyOrigin } from '../../src/server/openapi/parameters.ts'

const ROOT = new URL('../../', import.meta.url)

export type Files = Readonly<Record<string, string>>

export interface Shipped {
  readonly resources: Resources
  readonly snapshot: Snapshot
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the document says
export type Document = any

/** `files` as in startTestServer: `policies/policy.csv` and the like. */
export function shipped(files: Files = {}): Shipped {
  const resources = parseResources(textsOf('schemas', files))
  const policy = parsePolicy(policyFiles(files), resources)
  return { resources, snapshot: casbinPolicy(packPolicy(policy), resources) }
}

export function policyFiles(files: Files = {}): PolicyFiles {
  return Object.fromEntries(textsOf('policies', files).map((file) => [file.name, file])) as PolicyFiles
}

export async function wholeDocument(
  { snapshot, resources }: Shipped,
  origin: PolicyOrigin = 'folder',
): Promise<Document> {
  return makeDocument(await wholeAccess(snapshot, resources), resources, origin)
}

/** Of a caller with these roles; of one without credentials where there are none. */
export async function documentFor({ snapshot, resources }: Shipped, ...roles: readonly string[]): Promise<Document> {
  const caller = roles.length === 0 ? undefined : { id: 'somebody', roles, claims: {} }
  return makeDocument(await accessOf(snapshot, snapshot.subjectOf(caller), resources), resources, 'folder')
}

/** `GET /api/orders` and the like, sorted. */
export function operationsOf(document: Document): readonly string[] {
  const paths = Object.entries<object>(document.paths)
  return paths
    .flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`))
    .toSorted()
}

function textsOf(folder: string, given: Files): readonly { readonly name: string; readonly text: string }[] {
  const own = Object.entries(given).filter(([name]) => name.startsWith(`${folder}/`))
  const names = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => /\.\w+$/.test(name))
  const texts = new Map(files.map((name) => [name, read(`${folder}/${name}`)]))
  for (const [name, text] of own) texts.set(name.slice(folder.length + 1), text)
  return [...texts].map(([name, text]) => ({ name, text, ...(name.startsWith('commands/') && { isCommand: true }) }))
}

export function read(name: string): string {
  return readFileSync(new URL(name, ROOT), 'utf8')
}
