/**
 * The manifests of deploy/kubernetes/, as kustomize would combine them, and what is wrong with them: by the schemas and
 * types of Kubernetes (the package kubernetes-models), and by rules of our own. No cluster has run them.
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { removeFolder } from '../ends-with-tests.ts'

export const ROOT = new URL('../..', import.meta.url).pathname
export const FOLDER = join(ROOT, 'deploy/kubernetes')
const run = promisify(execFile)

// biome-ignore lint/suspicious/noExplicitAny: a manifest has the form that its schema says; tests break it on purpose
export type Manifest = any

/** The part of a kustomization that these folders use. */
interface Kustomization {
  readonly resources?: readonly string[]
  readonly patches?: readonly { readonly path: string }[]
  readonly components?: readonly string[]
  readonly configMapGenerator?: readonly {
    readonly name: string
    readonly envs?: readonly string[]
    readonly literals?: readonly string[]
  }[]
}

export function kustomizationOf(folder: string): Kustomization {
  return parseAllDocuments(readFileSync(join(FOLDER, folder, 'kustomization.yaml'), 'utf8'))[0]?.toJS()
}

/** All folders, by name. */
export function folders(): readonly string[] {
  return readdirSync(FOLDER).filter((name) => existsSync(join(FOLDER, name, 'kustomization.yaml')))
}

export function readManifests(folder: string, file: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(join(FOLDER, folder, file), 'utf8')).map((document) => document.toJS())
}

/** The manifests of `base` and of these components, with their patches, and the settings as one ConfigMap. */
export function manifestsOf(...components: readonly string[]): Manifest[] {
  const all = ['base', 'migrate', ...components].flatMap((folder) =>
    (kustomizationOf(folder).resources ?? []).flatMap((file) => readManifests(folder, file)),
  )
  const patches = components.flatMap((folder) =>
    (kustomizationOf(folder).patches ?? []).flatMap(({ path }) => readManifests(folder, path)),
  )
  for (const patch of patches) {
    const at = all.findIndex(({ kind, metadata }) => kind === patch.kind && metadata.name === patch.metadata.name)
    if (at < 0) throw new Error(`nothing to patch: ${patch.kind} ${patch.metadata.name}`)
    all[at] = merged(all[at], patch)
  }
  return [...all, ...settingsOf('base')]
}

function settingsOf(folder: string): readonly Manifest[] {
  return (kustomizationOf(folder).configMapGenerator ?? []).map(({ name, envs = [], literals = [] }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: Object.fromEntries(
      [
        ...envs.flatMap((file) =>
          readFileSync(join(FOLDER, folder, file), 'utf8')
            .trim()
            .split('\n'),
        ),
        ...literals,
      ].map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    ),
  }))
}

/** A strategic merge: items of a list are the same where their name or their place is. */
function merged(below: Manifest, above: Manifest): Manifest {
  if (Array.isArray(below) && Array.isArray(above)) return mergedLists(below, above)
  if (!isObject(below) || !isObject(above)) return above
  const keys = new Set([...Object.keys(below), ...Object.keys(above)])
  const value = (key: string) =>
    key in below && key in above ? merged(below[key], above[key]) : (above[key] ?? below[key])
  return Object.fromEntries([...keys].map((key) => [key, value(key)]))
}

function mergedLists(below: readonly Manifest[], above: readonly Manifest[]): readonly Manifest[] {
  const key = (item: Manifest) => item.mountPath ?? item.name
  const changed = below.map((item) => {
    const other = above.find((one) => key(one) === key(item))
    return other ? merged(item, other) : item
  })
  return [...changed, ...above.filter((item) => below.every((one) => key(one) !== key(item)))]
}

function isObject(value: Manifest): boolean {
  return typeof value === 'object' && value !== null
}

/** Where a manifest doesn't fit the schema of its kind, or has a field that the kind doesn't have. */
export async function schemaFaults(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const values = await Promise.all(manifests.map(valueFaults))
  return [...values.flat(), ...(await unknownFields(manifests))]
}

async function valueFaults(manifest: Manifest): Promise<readonly string[]> {
  try {
    const { [manifest.kind]: Kind } = await import(moduleOf(manifest))
    new Kind(manifest).validate()
    return []
  } catch (error) {
    return [`${nameOf(manifest)}: ${error instanceof Error ? error.message : error}`]
  }
}

/** The schemas let unknown fields pass; the compiler refuses them in a literal. */
async function unknownFields(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-manifests-'))
  const lines = manifests.map(
    (manifest, at) =>
      `export const m${at}: import('${moduleOf(manifest)}').I${manifest.kind} = ${JSON.stringify(manifest)}`,
  )
  writeFileSync(join(folder, 'manifests.ts'), `${lines.join('\n')}\n`)
  const modules = (name: string) => [`${name}/*`, [join(ROOT, 'node_modules', name, '*')]]
  const paths = Object.fromEntries(['kubernetes-models', '@kubernetes-models'].map(modules))
  const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, types: [], module: 'nodenext', paths }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['manifests.ts'] }))
  try {
    await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.', '--pretty', 'false'], { cwd: folder })
    return []
  } catch (error) {
    const { stdout } = error as { stdout: string }
    return [...stdout.matchAll(/^manifests\.ts\((\d+),\d+\): (.*)$/gm)].map(
      ([, line, message]) => `${nameOf(manifests[Number(line) - 1])}: ${message}`,
    )
  } finally {
    await removeFolder(folder)
  }
}

function moduleOf({ apiVersion, kind }: Manifest): string {
  const isOperators = apiVersion.startsWith('monitoring.coreos.com/')
  return `${isOperators ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'}/${apiVersion}/${kind}`
}

export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata?.name}`
}
