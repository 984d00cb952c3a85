/**
 * Holds every answer that a test server gives to the server's own OpenAPI document: the status must be one of the
 * operation's, with the headers, the media type and the body that stand there. One document and one validator for each
 * set of schemas and policy, which most servers share.
 */
import { createHash } from 'node:crypto'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { LRUCache } from 'lru-cache'
import { casbinPolicy } from '../src/decide/casbin/casbin.ts'
import { packPolicy } from '../src/decide/rules/rule-table.ts'
import type { Snapshot } from '../src/decide/snapshot.ts'
import { revisionOf } from '../src/policy/policy-files.ts'
import type { Resources } from '../src/resources/resource.ts'
import { readTarget } from '../src/resources/routing/request-target.ts'
import { wholeAccess } from '../src/server/openapi/access.ts'
import { makeDocument } from '../src/server/openapi/document.ts'
import type { PolicyOrigin } from '../src/server/openapi/parameters.ts'
import { PROBLEMS_OF_ANY_PATH } from '../src/server/openapi/problem-responses.ts'
import { loadPolicy } from '../src/tools/load-policy.ts'

export interface CheckedAnswer {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** What the document doesn't allow, in words; empty when all is as it says. */
export type AnswerChecker = (answer: CheckedAnswer) => readonly string[]

interface ResponsePart {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}

interface Operation {
  readonly responses: Readonly<Record<string, ResponsePart & { readonly $ref?: string }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly responses: Readonly<Record<string, ResponsePart>>
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>
  }
}

/** Headers that a document speaks of: such a header where the document has none is a fault. */
const SPOKEN = [
  'accept',
  'accept-encoding',
  'accept-patch',
  'allow',
  'content-location',
  'deprecation',
  'etag',
  'idempotency-replayed',
  'link',
  'location',
  'policy-revision',
  'policy-sequence',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'sunset',
  'www-authenticate',
  'x-request-id',
]

/** By schemas and policy: most servers have the same. A document with its validators takes some megabytes. */
const checkers = new LRUCache<string, Promise<AnswerChecker>>({ max: 24 })
/** Folders with a policy that they didn't hold when it answered. A test that asks on would read them for each answer. */
const absent = new Set<string>()
const hashes = new WeakMap<Resources, string>()

/**
 * The checker for what a policy directory makes of these resources; undefined where the policy that decided the answer is
 * no longer what stands there. It reads the files anew, so that nothing of the server's own is touched or believed.
 */
export async function answerChecker(
  directory: string,
  resources: Resources,
  { headers }: Pick<CheckedAnswer, 'headers'>,
): Promise<AnswerChecker | undefined> {
  const key = `${hashOf(resources)} ${headers.get('policy-revision')} ${headers.has('policy-sequence')}`
  const known = checkers.get(key)
  if (known || absent.has(`${directory} ${key}`)) return known
  const reviewed = await loadPolicy(directory, resources).catch(() => undefined)
  if (!reviewed || revisionOf(reviewed.files, reviewed.blockedFile) !== headers.get('policy-revision')) {
    absent.add(`${directory} ${key}`)
    return undefined
  }
  const origin = headers.has('policy-sequence') ? 'published' : 'folder'
  const made = makeChecker(casbinPolicy(packPolicy(reviewed.policy), resources), resources, origin)
  checkers.set(key, made)
  return made
}

function hashOf(resources: Resources): string {
  const known = hashes.get(resources)
  if (known !== undefined) return known
  const schemas = [...resources.byName.values()].map(({ name, schema }) => [name, schema])
  const hash = createHash('sha256').update(JSON.stringify(schemas)).digest('hex')
  hashes.set(resources, hash)
  return hash
}

async function makeChecker(snapshot: Snapshot, resources: Resources, origin: PolicyOrigin): Promise<AnswerChecker> {
  const document = await makeDocument(await wholeAccess(snapshot, resources), resources, origin)
  return checkerOf(document as unknown as Document)
}

export function checkerOf(document: Document): AnswerChecker {
  const ajv = new Ajv2020({
    strict: false,
    ownProperties: true,
    validateSchema: false,
    formats: { ...fullFormats },
    // Most validators are asked a few times: what it saves them takes as long as all else of compiling.
    code: { optimize: false },
  })
  ajv.addSchema(document, 'document')
  const validators = new Map<object, ValidateFunction>()
  // Only what the tests meet is compiled.
  const validatorOf = (schema: object) => {
    const known = validators.get(schema) ?? ajv.compile(rebased(schema))
    validators.set(schema, known)
    return known
  }
  // OpenAPI, "Path Templating Matching": a path without a parameter is matched first.
  const entries = Object.entries(document.paths).toSorted(
    ([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')),
  )
  const paths = entries.map(([path, operations]) => ({ form: formOf(path), operations }))
  return (answer) => {
    const pathname = pathOf(answer.path)
    const found = paths.find(({ form }) => form.test(pathname))
    const operation = found?.operations[gatewayAsks(pathname) ? 'get' : answer.method.toLowerCase()]
    if (!operation) return faultsElsewhere(answer)
    const named = operation.responses[answer.status]
    if (!named) return [`the status ${answer.status} is none of ${Object.keys(operation.responses).join(', ')}`]
    const response = named.$ref ? resolve(document, named.$ref) : named
    return [...headerFaults(document, response, answer), ...bodyFaults(response, answer, validatorOf)]
  }
}

/** The document says that every method has the same answers there. */
function gatewayAsks(pathname: string): boolean {
  return pathname.startsWith('/access/v1/forward/')
}

/** As the server reads it: nothing is normalised, and a faulty target is no operation's. */
function pathOf(text: string): string {
  const target = readTarget(text)
  return 'path' in target ? target.path : ''
}

/** A parameter is one segment, whatever is in it. */
function formOf(path: string): RegExp {
  const escaped = path.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${escaped.join('[^/]+')}$`)
}

/** What no operation answers is a problem that any path can have, or what OPTIONS * says. */
function faultsElsewhere({ method, path, status, text }: CheckedAnswer): readonly string[] {
  if (method === 'OPTIONS' && path === '*' && status === 204) return []
  if (method === 'HEAD' && status >= 400) return []
  const code: unknown = text === '' ? undefined : JSON.parse(text).code
  return PROBLEMS_OF_ANY_PATH.some((one) => one === code) ? [] : [`no operation, and \`${code}\` is for operations`]
}

function resolve(document: Document, reference: string): ResponsePart {
  return document.components.responses[reference.split('/').at(-1) ?? ''] ?? {}
}

function headerFaults(document: Document, { headers = {} }: ResponsePart, answer: CheckedAnswer): readonly string[] {
  const declared = Object.entries(headers)
  const required = declared.filter(
    ([, { $ref }]) => document.components.headers[$ref.split('/').at(-1) ?? '']?.required,
  )
  const missing = required
    .filter(([name]) => !answer.headers.has(name))
    .map(([name]) => `the header ${name} is missing`)
  const allowed = new Set(declared.map(([name]) => name.toLowerCase()))
  const more = SPOKEN.filter((name) => answer.headers.has(name) && !allowed.has(name))
  return [...missing, ...more.map((name) => `the header ${name} is not in the document`)]
}

function bodyFaults(
  { content = {} }: ResponsePart,
  { method, status, headers, text }: CheckedAnswer,
  validatorOf: (schema: object) => ValidateFunction,
): readonly string[] {
  const type = headers.get('content-type')?.split(';')[0]
  if (method === 'HEAD') return []
  // The document says so in words: who may read nothing of a new object gets no body.
  if (text === '' && (Object.keys(content).length === 0 || status === 201)) {
    return type === undefined ? [] : [`the media type ${type} of no body`]
  }
  if (text === '') return ['the body is missing']
  const schema = content[type ?? '']?.schema
  if (!schema) return [`the media type ${type} is none of ${Object.keys(content).join(', ')}`]
  const validate = validatorOf(schema)
  // The document says of some streams that they are text, and of others what each event is.
  const bodies = type !== 'text/event-stream' ? [JSON.parse(text)] : validate(text) ? [text] : eventsIn(text)
  return bodies.flatMap((body) => {
    if (validate(body)) return []
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      return `the body${instancePath} ${message} ${JSON.stringify(params)}`
    })
  })
}

/** Each with the members of its lines; a block without data is none. */
function eventsIn(text: string): readonly unknown[] {
  return text.split('\n\n').flatMap((block) => {
    // A line that begins with a colon is a comment.
    const lines = block.split('\n').filter((line) => !line.startsWith(':'))
    const fields = Object.fromEntries(lines.map((line) => [line.split(':', 1)[0], line.replace(/^\w*: /, '')]))
    return fields.data === undefined ? [] : [{ ...fields, data: JSON.parse(fields.data) }]
  })
}

/** References lead into the document. */
function rebased(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"document#'))
}
