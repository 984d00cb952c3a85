/** The request body as a JSON object: media type, size and syntax. What its fields may be is the schema's matter. */
import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { Problem } from '../problems/problem.ts'
import type { Json, Operation } from '../resources/resource.ts'
import { ACCEPT_PATCH } from '../routes/show-options.ts'
import { parseStrictJson } from './strict-json.ts'

export type JsonObject = { readonly [name: string]: Json }

const JSON_TYPE = 'application/json'
/** RFC 7396; plain JSON is read as this. */
const MERGE_PATCH_TYPE = 'application/merge-patch+json'

/** Throws Problem unsupported-media-type, body-too-large, invalid-json or invalid-body. */
export async function readBody(ctx: Context, operation: Operation, limitBytes: number): Promise<JsonObject> {
  refuseContentRange(ctx, operation)
  const patch = operation === 'update'
  const { headers } = ctx.req
  if (headers['content-encoding'] !== undefined && headers['content-encoding'].toLowerCase() !== 'identity') {
    throw unsupported(patch, 'A body is sent without Content-Encoding.')
  }
  if (!hasBody(ctx)) throw new Problem('invalid-body', 'This request needs a JSON object as its body.')
  if (!ctx.is(patch ? [MERGE_PATCH_TYPE, JSON_TYPE] : [JSON_TYPE])) {
    throw unsupported(patch, `Send ${patch ? ACCEPT_PATCH : JSON_TYPE} and say so in Content-Type.`)
  }
  if (ctx.request.charset !== '' && ctx.request.charset.toLowerCase() !== 'utf-8') {
    throw new Problem('invalid-json', 'The body must be UTF-8.')
  }
  const body = parseStrictJson(await readBytes(ctx, limitBytes))
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('invalid-body', 'The body must be a JSON object.')
  }
  return body as JsonObject
}

/** RFC 9110 section 14.5: a server that doesn't support partial PUT refuses it. */
function refuseContentRange(ctx: Context, operation: Operation): void {
  if (operation === 'replace' && ctx.req.headers['content-range'] !== undefined) {
    throw new Problem('content-range', 'PUT replaces the whole object; leave Content-Range out.')
  }
}

function hasBody({ req: { headers } }: Context): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function unsupported(patch: boolean, detail: string): Problem {
  // RFC 9110 section 15.5.16: the answer says what would be accepted.
  return new Problem('unsupported-media-type', detail, {
    headers: { ...(patch ? { 'Accept-Patch': ACCEPT_PATCH } : { Accept: JSON_TYPE }), 'Accept-Encoding': 'identity' },
  })
}

/**
 * koa-body reads it as Latin-1, one character a byte, so that the bytes come back as they were: its own decoding would
 * turn what isn't UTF-8 into replacement characters, in silence.
 */
async function readBytes(ctx: Context, limitBytes: number): Promise<Buffer> {
  expectContinue(ctx)
  try {
    await readerFor(limitBytes)(ctx, async () => undefined)
  } catch (error) {
    throw bodyProblem(error, limitBytes)
  }
  return Buffer.from(String(ctx.request.body ?? ''), 'latin1')
}

const readers = new Map<number, ReturnType<typeof koaBody>>()

function readerFor(limitBytes: number): ReturnType<typeof koaBody> {
  const known = readers.get(limitBytes)
  if (known) return known
  const reader = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    textTypes: [JSON_TYPE, MERGE_PATCH_TYPE],
    textLimit: limitBytes,
    encoding: 'latin1',
  })
  readers.set(limitBytes, reader)
  return reader
}

/** RFC 9110 section 10.1.1: the client is asked for the body only now that it is authorized. */
function expectContinue(ctx: Context): void {
  if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue()
}

function bodyProblem(error: unknown, limitBytes: number): unknown {
  const type = (error as { type?: unknown }).type
  if (type === 'entity.too.large') {
    // What the client still sends isn't read, so the connection can't be used again.
    const headers = { Connection: 'close' }
    return new Problem('body-too-large', `A body has at most ${limitBytes} bytes.`, { headers, cause: error })
  }
  if (type === 'request.aborted' || type === 'request.size.invalid') {
    return new Problem('malformed-request', 'The body ended before it was complete.', { cause: error })
  }
  return error
}
