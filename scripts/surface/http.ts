/**
 * Built-in routes as the OpenAPI document has them: methods, parameters, bodies, answers. Notes of the demo stand for
 * the routes that each resource has.
 */
import { openapiDocument } from '../../src/cli/openapi/document.ts'
import { schemaMembers } from './json-schema.ts'
import { type Members, requires } from './members.ts'

interface Body {
  readonly required?: boolean
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>
}

interface Answer extends Body {
  readonly headers?: Readonly<Record<string, unknown>>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema?: unknown
}

interface Operation {
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Answer>>
}

interface Reference {
  readonly $ref: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

/** Resources of the demo, but notes. */
const OTHERS = /^\/(?:api\/)?(?:accounts|orders|users|profile|notes)\b/
const THEIR_SCHEMAS = /^(?:Account|Order|User)/

export async function httpMembers(root: string): Promise<Members> {
  const folders = { policies: `${root}policies`, schemas: `${root}schemas` }
  const { paths, components } = (await openapiDocument({ ...folders, role: [] })) as Document
  const operations = Object.entries(paths)
    .filter(([path]) => !OTHERS.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation.responses !== undefined)
        .map(([method, operation]) => ({ name: `http ${method.toUpperCase()} ${path}`, operation })),
    )
  return [
    ...operations.flatMap(({ name, operation }) => operationMembers(name, operation, components.parameters)),
    ...Object.entries(components.schemas)
      .filter(([name]) => !THEIR_SCHEMAS.test(name))
      .flatMap(([name, schema]) => schemaMembers(`http schema ${name}`, schema)),
  ]
}

function operationMembers(
  name: string,
  { parameters = [], requestBody, responses }: Operation,
  shared: Document['components']['parameters'],
): Members {
  const found = parameters.map((one) => ('$ref' in one ? shared[one.$ref.split('/').at(-1) ?? ''] : one))
  return [
    [name, ''],
    ...found.flatMap((one) => (one ? parameterMembers(name, one) : [])),
    ...(requestBody?.required ? [requires(name, 'a body')] : []),
    ...contentMembers(`${name} takes`, requestBody),
    ...Object.entries(responses).flatMap(
      ([status, answer]): Members => [
        [`${name} answers ${status}`, ''],
        ...Object.keys(answer.headers ?? {}).map((header) => [`${name} answers ${status} with ${header}`, ''] as const),
        ...contentMembers(`${name} answers ${status}`, answer),
      ],
    ),
  ]
}

function parameterMembers(owner: string, { name, in: where, required, schema }: Parameter): Members {
  const own = `${where} ${name}`
  return [...(required ? [requires(owner, own)] : []), ...schemaMembers(`${owner} ${own}`, schema)]
}

function contentMembers(owner: string, body: Body | undefined): Members {
  return Object.entries(body?.content ?? {}).flatMap(([type, { schema }]) =>
    schemaMembers(`${owner} ${type}`, schema ?? {}),
  )
}
