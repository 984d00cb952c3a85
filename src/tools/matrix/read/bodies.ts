/** The bodies that matrices name, read once. */
import { readFile } from 'node:fs/promises'
import type { Json } from '../../../resources/resource.ts'
import { isObject } from '../../../resources/schema/subschemas.ts'

export type Body = { readonly kind: 'json'; readonly json: Json } | { readonly kind: 'unusable'; readonly why: string }

/** By the path of the file. */
export type Bodies = ReadonlyMap<string, Body>

/** A file that can't be read, or isn't JSON, is unusable: the cells that send it fail. Never rejects. */
export async function readBodies(expectations: readonly { readonly body?: string }[]): Promise<Bodies> {
  const files = [...new Set(expectations.flatMap(({ body }) => (body === undefined ? [] : [body])))]
  return new Map(await Promise.all(files.map(async (file) => [file, await readBody(file)] as const)))
}

async function readBody(file: string): Promise<Body> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return { kind: 'unusable', why: `there is no body file \`${file}\`` }
  try {
    return { kind: 'json', json: JSON.parse(text.replace(/^\uFEFF/, '')) as Json }
  } catch {
    return { kind: 'unusable', why: `the body file \`${file}\` is not JSON` }
  }
}

/** What a body file holds; undefined where there is none, or no object in it. */
export function objectIn(bodies: Bodies, file: string): Readonly<Record<string, Json>> | undefined {
  const body = bodies.get(file)
  return body?.kind === 'json' && isObject(body.json) ? body.json : undefined
}
