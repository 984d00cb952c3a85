/**
 * The requests of a batch as they are sent, and the references in them: `{"$ref": "r1.id"}` in a body and `{r1.id}` in a
 * path stand for a value of an earlier answer. A value never changes the structure of a path.
 */
import { isObject } from '../../base/is-object.ts'
import { type Path, pointerOfPath } from '../../base/json-pointer.ts'
import { type FieldFault, Problem } from '../../base/problems/problem.ts'
import type { Json } from '../../resources/resource.ts'
import { MAX_URL_LENGTH, urlTooLong } from '../../resources/routing/request-target.ts'
import type { InMemoryAnswer, InMemoryRequest } from '../http/in-memory.ts'

export interface BatchRequest {
  readonly atomic?: boolean
  readonly requests: readonly BatchPart[]
}

/** As its schema has it (src/resources/built-in/batch.ts). */
export interface BatchPart {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
}

/** Others are of the connection, of the caller, or of the batch as a whole. */
const HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'idempotency-key', 'if-match', 'if-none-match'])

/** The id of a part, then the way to a value: names of members, and places in lists. */
const REFERENCE = /^(?<part>[\w-]{1,64})(?<way>(?:\.[^.{}]{1,128}){1,8})$/

const IN_PATH = /\{(?<reference>[^{}]*)\}/g

/** What the schema can't say: throws Problem invalid-body. */
export function refuseFaulty({ requests }: BatchRequest): void {
  const earlier = new Set<string>()
  const errors = requests.flatMap((part, at) => {
    const found = [...faultsOf(part, earlier)]
    earlier.add(part.id)
    return found.map(({ way, ...fault }) => ({ pointer: pointerOfPath(['requests', at, ...way]), ...fault }))
  })
  if (errors.length > 0) refuseBatch(errors.slice(0, MOST_FAULTS))
}

const MOST_FAULTS = 100

export function refuseBatch(errors: readonly FieldFault[]): never {
  throw new Problem('invalid-body', 'The body is no batch; correct the fields in `errors`.', { errors })
}

type PartFault = Omit<FieldFault, 'pointer'> & { readonly way: Path }

function* faultsOf({ id, path, headers = {}, body }: BatchPart, earlier: ReadonlySet<string>): Generator<PartFault> {
  if (earlier.has(id)) yield { way: ['id'], detail: 'is the id of an earlier request', code: 'unique' }
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase()
    if (!HEADERS.has(lower) || seen.has(lower)) {
      const detail = `must be one of ${[...HEADERS].join(', ')}, each once`
      yield { way: ['headers', name], detail, code: 'header' }
    }
    seen.add(lower)
  }
  for (const [, reference = ''] of path.matchAll(IN_PATH)) {
    const fault = faultOfReference(reference, earlier)
    if (fault) yield { way: ['path'], ...fault }
  }
  if (/[{}]/.test(path.replaceAll(IN_PATH, ''))) {
    yield { way: ['path'], detail: 'has a brace without its pair; percent-encode it', code: 'reference' }
  }
  if (body === undefined) return
  for (const { way, reference } of referencesIn(body, ['body'])) {
    const fault = typeof reference === 'string' ? faultOfReference(reference, earlier) : NO_REFERENCE
    if (fault) yield { way, ...fault }
  }
}

const NO_REFERENCE = {
  detail: 'must be alone in its object: the id of an earlier request, a dot, and the name of a value, as in `r1.id`',
  code: 'reference',
}

function faultOfReference(text: string, earlier: ReadonlySet<string>): typeof NO_REFERENCE | undefined {
  const part = REFERENCE.exec(text)?.groups?.part
  if (part === undefined) return NO_REFERENCE
  return earlier.has(part) ? undefined : { detail: `names \`${part}\`, which is no earlier request`, code: 'reference' }
}

/** `reference`: undefined where the object has other members too. */
function* referencesIn(json: Json, way: Path): Generator<{ readonly way: Path; readonly reference: Json | undefined }> {
  if (typeof json !== 'object' || json === null) return
  if (isReference(json)) {
    yield { way: [...way, '$ref'], reference: Object.keys(json).length === 1 ? json.$ref : undefined }
    return
  }
  for (const [name, value] of Object.entries(json)) {
    yield* referencesIn(value, [...way, Array.isArray(json) ? Number(name) : name])
  }
}

function isReference(json: Json): json is { readonly $ref: Json } {
  return isObject(json) && Object.hasOwn(json, '$ref')
}

// The values of references.

/** The earlier answers, by the ids of their parts. */
export type Answers = ReadonlyMap<string, InMemoryAnswer>

/** The values of the earlier answers of one batch. */
export class EarlierValues {
  readonly #answers: Answers
  readonly #bodies = new Map<string, Json>()
  /** In bytes, by reference: many may name one long value, which is written as often as it fits. */
  readonly #lengths = new Map<string, number>()

  constructor(answers: Answers) {
    this.#answers = answers
  }

  /**
   * The request of a part, with values in place of its references. Throws Problem failed-dependency for a value that
   * there isn't, and body-too-large or url-too-long before its values make the body or the path larger than it may be.
   */
  requestOf({ method, path: sent, headers = {}, body }: BatchPart, limitBytes: number): InMemoryRequest {
    let left = MAX_URL_LENGTH
    const path = sent.replaceAll(IN_PATH, (_, reference: string) => {
      const value = this.#inPath(reference)
      left -= value.length
      if (left < 0) throw urlTooLong()
      return value
    })
    const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    if (body === undefined) return { method, path, headers: named }
    const text = this.#write(body, { left: limitBytes, limitBytes })
    return { method, path, headers: { 'content-type': 'application/json', ...named }, text }
  }

  #inPath(reference: string): string {
    const value = this.#value(reference)
    if (typeof value === 'object' || value === '') throw absent(reference)
    // A dot alone is no name in a path (RFC 3986 section 3.3).
    return encodeURIComponent(String(value)).replaceAll('.', '%2E')
  }

  #write(json: Json, room: Room): string {
    if (typeof json !== 'object' || json === null) return taken(JSON.stringify(json), room)
    if (isReference(json)) return this.#text(String(json.$ref), room)
    if (Array.isArray(json)) return `[${json.map((one) => this.#write(one, room)).join()}]`
    const members = Object.entries(json).map(
      ([name, value]) => `${taken(JSON.stringify(name), room)}:${this.#write(value, room)}`,
    )
    return `{${members.join()}}`
  }

  #text(reference: string, room: Room): string {
    if ((this.#lengths.get(reference) ?? 0) > room.left) throw tooLarge(room)
    const text = JSON.stringify(this.#value(reference))
    this.#lengths.set(reference, Buffer.byteLength(text))
    return taken(text, room)
  }

  #value(reference: string): Json {
    const { part = '', way = '' } = REFERENCE.exec(reference)?.groups ?? {}
    const answer = this.#answers.get(part)
    if (!answer || answer.status >= 400 || answer.text === '') throw absent(reference)
    const body = this.#bodies.getOrInsertComputed(part, () => JSON.parse(answer.text) as Json)
    const value = way.slice(1).split('.').reduce<Json | undefined>(memberOf, body)
    if (value === undefined) throw absent(reference)
    return value
  }
}

interface Room {
  left: number
  readonly limitBytes: number
}

function taken(text: string, room: Room): string {
  room.left -= Buffer.byteLength(text)
  if (room.left < 0) throw tooLarge(room)
  return text
}

function tooLarge({ limitBytes }: Room): Problem {
  return new Problem('body-too-large', `The body is too large; send at most ${limitBytes} bytes.`)
}

function memberOf(json: Json | undefined, name: string): Json | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  if (Array.isArray(json)) return /^\d{1,9}$/.test(name) ? json[Number(name)] : undefined
  return Object.hasOwn(json, name) ? (json as Readonly<Record<string, Json>>)[name] : undefined
}

function absent(reference: string): Problem {
  return new Problem('failed-dependency', `There is no value \`${reference}\`; look at the request that it comes from.`)
}
