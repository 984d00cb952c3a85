/** A typed client of an OpenAPI document as one TypeScript file: the types by openapi-typescript, and a fixed runtime. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../base/files/durable-file.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { isObject } from '../../base/is-object.ts'
import { ToolError } from '../load-policy.ts'
import { packagePath } from '../project/package-files.ts'
import {
  groupsOf,
  hasEvents,
  METHODS,
  type OfferedOperation,
  type OfferedOperations,
  type OpenApi,
} from './client-groups.ts'
import { connectSource } from './client-source.ts'

/** The first words of a file that this command made, and may make again. */
const MARK = '// Made by `sallyport client'

const BATCH = 'system/batch'

export interface ClientFile {
  readonly path: string
  readonly text: string
  /** What is there now. */
  readonly current: string | undefined
}

/** The file, not written yet. Throws ToolError if another one is there, and if there is no generator. */
export async function makeClient(document: unknown, out: string, roles: readonly string[]): Promise<ClientFile> {
  const path = await writingPlace(out)
  const current = await readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw new ToolError(`\`${out}\` can't be read (${systemReason(error.code)}): name a file with --out`)
  })
  if (current !== undefined && !current.startsWith(MARK)) {
    throw new ToolError(`\`${out}\` wasn't made by this command, and was left as it is: name another file with --out`)
  }
  return { path, current, text: await clientSource(document as OpenApi, path, roles) }
}

/** Replaces the file at once. Throws ToolError. */
export async function writeClient({ path, text }: ClientFile): Promise<void> {
  try {
    await makeFolder(dirname(path), 0o755)
    await replaceFile(path, text)
  } catch (error) {
    const reason = systemReason((error as NodeJS.ErrnoException).code)
    throw new ToolError(`\`${path}\` can't be written (${reason}): name another file with --out`)
  }
}

async function clientSource(document: OpenApi, path: string, roles: readonly string[]): Promise<string> {
  const generate = typesGenerator(path)
  const offered = narrowed(document)
  const paths = Object.entries(offered.paths)
  const [batch] = paths.find(([, { post }]) => post?.tags?.[0] === BATCH) ?? []
  const groups = groupsOf({ paths: Object.fromEntries(paths.filter(([path]) => path !== batch)) })
  const names = hasEvents(groups) ? ['runtime', 'follow', 'event-parser'] : ['runtime']
  const runtime = await Promise.all(names.map((name) => readFile(packagePath(`templates/client/${name}.ts`), 'utf8')))
  const types = await generate(offered)
  return [
    `${MARK}${roles.map((role) => ` --role ${role}`).join('')}\`: change the schemas or the policy, and make it again.`,
    ...groups.leftOut.map((one) => `// Not in it, because its name is taken: ${one}`),
    '/* eslint-disable */',
    '// biome-ignore-all format: made by a program\n// biome-ignore-all lint: made by a program\n',
    connectSource(groups, batch),
    ...runtime,
    '/** The shapes of objects, bodies and answers, by the names of the OpenAPI document. */',
    "export type Schemas = components['schemas']\n",
    types,
  ].join('\n')
}

// ---- The part of the document that a client uses.

/** The routes of schema files, and batches: what they take, and what they answer when they succeed. */
function narrowed({ openapi, info, paths, components }: OpenApi): OpenApi {
  const kept = Object.entries(paths).flatMap(([path, operations]) => {
    const some = METHODS.flatMap((method) => {
      const operation = operations[method]
      const one = operation && succeeding(operation, components.parameters ?? {})
      return one && isOffered(one) ? [[method, one] as const] : []
    })
    return some.length === 0 ? [] : [[path, Object.fromEntries(some) as OfferedOperations] as const]
  })
  const used = new Set(['Problem'])
  gatherNames(kept, components.schemas, used)
  gatherNames(components.schemas.Problem, components.schemas, used)
  const schemas = Object.entries(components.schemas).filter(([name]) => used.has(name))
  return { openapi, info, paths: Object.fromEntries(kept), components: { schemas: Object.fromEntries(schemas) } }
}

function isOffered({ tags: [tag = ''] = [] }: OfferedOperation): boolean {
  return tag === BATCH || !tag.startsWith('system/')
}

/** Without headers and problems, which the runtime knows; nothing of a route that moved. */
function succeeding(operation: OfferedOperation, parameters: NonNullable<OpenApi['components']['parameters']>) {
  const responses = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
  if (responses.length === 0) return undefined
  const { operationId, ...rest } = operation
  const resolved = operation.parameters?.map((one) => parameters[one.$ref?.split('/').at(-1) ?? ''] ?? one) ?? []
  return {
    ...rest,
    parameters: resolved.filter((one) => one.in !== 'header'),
    responses: Object.fromEntries(
      responses.map(([status, { description = '', content }]) => [
        status,
        { description, ...(content && { content }) },
      ]),
    ),
  }
}

/** The names of all schemas that a part of the document leads to. */
function gatherNames(part: unknown, schemas: OpenApi['components']['schemas'], found: Set<string>): void {
  if (Array.isArray(part)) for (const one of part) gatherNames(one, schemas, found)
  if (!isObject(part)) return
  const name = typeof part.$ref === 'string' ? part.$ref.split('/').at(-1) : undefined
  if (name !== undefined && !found.has(name)) {
    found.add(name)
    gatherNames(schemas[name], schemas, found)
  }
  for (const one of Object.values(part)) gatherNames(one, schemas, found)
}

// ---- The generator, which is the user's: with its compiler it is larger than this program.

interface Generator {
  readonly default: (document: object, options: object) => Promise<unknown>
  readonly astToString: (tree: unknown) => string
}

const GENERATOR = 'openapi-typescript'

/** Throws ToolError. */
function typesGenerator(path: string): (document: OpenApi) => Promise<string> {
  for (const folder of [dirname(path), process.cwd(), packagePath('.')]) {
    const require = createRequire(join(folder, 'package.json'))
    try {
      const { default: generate, astToString }: Generator = require(GENERATOR)
      // A field with a default may be absent from a body.
      return async (document) => astToString(await generate(structuredClone(document), { defaultNonNullable: false }))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw unusable(error as Error)
    }
  }
  throw new ToolError(
    'openapi-typescript makes the types, and is not installed: ' +
      'run `npm install --save-dev openapi-typescript@7 typescript@5` in the project of the client',
  )
}

function unusable({ message }: Error): ToolError {
  return new ToolError(`openapi-typescript can't be loaded (${message}): it needs typescript@5 beside it`)
}
