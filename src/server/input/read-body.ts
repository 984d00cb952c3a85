/**
 * The request body as JSON, an object or a JSON Patch: media type, size and syntax. The schema checks its fields later.
 */
import type { Context, Middleware } from 'koa'
import { koaBody } from 'koa-body'
import { isObject } from '../../base/is-object.ts'
import { Problem } from '../../base/problems/problem.ts'
import { parseStrictJson } from '../../resources/json/strict-json.ts'
import type { Operation, Resource } from '../../resources/resource.ts'
import { hasBody, interruptionFor } from '../http/http-server.ts'
import { parseJsonPatch } from '../routes/json-patch.ts'
import type { Content } from './input.ts'

const JSON_TYPE = 'application/json'
/** RFC 7396; plain JSON is read as this. */
const MERGE_PATCH_TYPE = 'application/merge-patch+json'
/** RFC 6902. */
const JSON_PATCH_TYPE = 'application/json-patch+json'

const PATCH_TYPES = [MERGE_PATCH_TYPE, JSON_PATCH_TYPE, JSON_TYPE]

/** The value of Accept-Patch (RFC 5789 section 3.1). */
export const ACCEPT_PATCH = PATCH_TYPES.join(', ')

interface ExpectedBody {
  readonly operation: Operation
  readonly resource: Resource
  readonly limitBytes: number
}

/**
 * Throws Problem content-range, unsupported-media-type, body-too-large, invalid-json, invalid-body or invalid-patch, in
 * this order.
 */
export async function readBody(ctx: Context, { operation, resource, limitBytes }: ExpectedBody): Promise<Content> {
  const { headers } = ctx.req
  // RFC 9110 section 14.5: a server that doesn't support partial PUT refuses it.
  if (operation === 'replace' && headers['content-range'] !== undefined) {
    throw new Problem('content-range', 'PUT replaces the whole object; omit the header Content-Range.')
  }
  // Most clients send exactly this, which is accepted wherever a body is.
  const isPlain = headers['content-type'] === JSON_TYPE
  if (!isPlain || headers['content-encoding'] !== undefined) refuseMediaType(ctx, operation)
  if (!hasBody(ctx.req)) throw new Problem('invalid-body', 'The request has no body; send a JSON body.')
  const bytes = await readBytes(ctx, limitBytes)
  if (!isPlain) refuseCharset(ctx)
  const json = parseStrictJson(bytes)
  if (!isPlain && ctx.is(JSON_PATCH_TYPE)) return { kind: 'json-patch', operations: parseJsonPatch(json, resource) }
  if (!isObject(json)) {
    throw new Problem('invalid-body', 'The body is not a JSON object; send one.')
  }
  return { kind: 'body', body: json }
}

function refuseCharset({ request: { charset } }: Context): void {
  if (charset === '' || charset.toLowerCase() === 'utf-8') return
  throw new Problem('invalid-json', 'The charset of the body is not UTF-8; send UTF-8.')
}

/** The answer says what would be accepted (RFC 9110 section 15.5.16, RFC 5789 section 3.1). */
function refuseMediaType(ctx: Context, operation: Operation): void {
  const patch = operation === 'update'
  const isEncoded = (ctx.req.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
  if (!isEncoded && hasType(ctx, patch ? PATCH_TYPES : [JSON_TYPE])) return
  const detail = isEncoded
    ? 'The body has a Content-Encoding; send it without one.'
    : `The Content-Type is not supported; send ${patch ? `one of ${ACCEPT_PATCH}` : JSON_TYPE}.`
  const accepted = patch ? { 'Accept-Patch': ACCEPT_PATCH } : { Accept: JSON_TYPE }
  throw new Problem('unsupported-media-type', detail, { headers: { 'Accept-Encoding': 'identity', ...accepted } })
}

/** Without a body, the media type is only checked if the request names one. */
function hasType(ctx: Context, accepted: readonly string[]): boolean {
  if (hasBody(ctx.req)) return ctx.is([...accepted]) !== false
  return ctx.request.type === '' || accepted.includes(ctx.request.type.toLowerCase())
}

/** The raw bytes: koa-body would decode them and silently turn invalid UTF-8 into replacement characters. */
async function readBytes(ctx: Context, limitBytes: number): Promise<Buffer> {
  const { headers, httpVersion } = ctx.req
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
  // RFC 9110 section 10.1.1: the client is asked for the body only now that it is authorized; HTTP/1.0 knows no 100.
  if (headers.expect !== undefined && httpVersion === '1.1') ctx.res.writeContinue()
  try {
    const read = readers.get(limitBytes) ?? makeReader(limitBytes)
    await Promise.race([read(ctx, NO_NEXT), interruptionFor(ctx.req).promise])
  } catch (error) {
    throw bodyProblem(error, limitBytes)
  }
  return (ctx.request.body as Buffer | undefined) ?? Buffer.alloc(0)
}

const readers = new Map<number, Middleware>()
const NO_NEXT = async () => undefined

function makeReader(limitBytes: number): Middleware {
  const reader = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    textTypes: PATCH_TYPES,
    textLimit: limitBytes,
    // No encoding: the result is a buffer.
    encoding: '',
  })
  readers.set(limitBytes, reader)
  return reader
}

function bodyProblem(error: unknown, limitBytes: number): unknown {
  const type = (error as { type?: unknown }).type
  if (type === 'entity.too.large') return tooLarge(limitBytes, error)
  // The last one: the client was gone before anything was read.
  if (type === 'request.aborted' || type === 'request.size.invalid' || type === 'stream.not.readable') {
    return new Problem('malformed-request', 'The body ended too early; send it again.', { cause: error })
  }
  return error
}

function tooLarge(limitBytes: number, cause?: unknown): Problem {
  // The rest of the body isn't read, so the connection can't be used again.
  return new Problem('body-too-large', `The body is too large; send at most ${limitBytes} bytes.`, {
    headers: { Connection: 'close' },
    cause,
  })
}
