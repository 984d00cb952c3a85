/** A random world of test/policy/arbitrary-language.ts, served over real HTTP: its policy, its objects, its caller. */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { readConfig } from '../../src/config/config.ts'
import type { Caller } from '../../src/decide/caller.ts'
import type { Authentication } from '../../src/identity/caller.ts'
import type { Field, Resource, Route } from '../../src/resources/resource.ts'
import { type App, startApp } from '../../src/server/app.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { STORED } from '../policy/language-fixture.ts'
import { filesOfWorld } from '../policy/language-product.ts'
import type { Json, Plain, World } from '../policy/world.ts'
import { recordsReader } from '../server.ts'

interface Told {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answered
  readonly body: any
}

export interface ServedWorld {
  readonly app: App
  /** The settings of the server, for commands beside it. */
  readonly env: Readonly<Record<string, string>>
  /** As the world's caller, from the world's address; `as`: with the token of another caller. */
  ask(method: string, path: string, options?: Asking): Promise<Told>
  /** The decision log so far. */
  readonly records: () => Promise<readonly object[]>
}

interface Asking {
  /** Text is sent as it is. */
  readonly body?: string | object
  readonly headers?: Readonly<Record<string, string>>
  /** The id of one of `others`. */
  readonly as?: string
}

interface Serving {
  /** Policy files that replace those of the world, or join them. */
  readonly files?: (ofWorld: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
  /** Callers besides the world's; the token of each is its id. */
  readonly others?: readonly Caller[]
  /** By the id of a users record: its roles. */
  readonly roles?: Readonly<Record<string, readonly string[]>>
  /** In place of a file. */
  readonly databaseUrl?: string | undefined
}

export async function serveWorld(
  world: World,
  use: (served: ServedWorld) => Promise<void>,
  { files = (ofWorld) => ofWorld, others = [], roles = {}, databaseUrl }: Serving = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-world-'))
  const rendered = Object.values(filesOfWorld(world)).flatMap((file) => (file ? [[file.name, file.text]] : []))
  await writeAll(join(folder, 'policies'), files({ ...Object.fromEntries(rendered), 'blocked.txt': '' }))
  await writeAll(
    join(folder, 'schemas'),
    Object.fromEntries(STORED.map((one) => [`${one.name}.json`, JSON.stringify(schemaOf(one))])),
  )
  const env = {
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: join(folder, 'data'),
    POLICIES: join(folder, 'policies'),
    SCHEMAS: join(folder, 'schemas'),
    TRUST_PROXY: '127.0.0.1,::1',
    ...(databaseUrl !== undefined && {
      DATABASE_URL: databaseUrl,
      KEYS_SECRET,
    }),
  }
  const callers = new Map([[WORLDS, callerOf(world)], ...others.map((one) => [one.id, one] as const)])
  const app = await startApp({
    config: readConfig(env, { demo: false }),
    log: pino({ level: 'silent' }),
    verifier: { verify: (token) => verified(callers.get(token)) },
    now: () => new Date(world.now ?? 0),
  })
  try {
    for (const [resource, objects] of world.objects ?? []) {
      const stored = objects.map(({ id, createdAt, updatedAt, ...own }) => {
        const held = resource === 'users' ? (roles[String(id)] ?? []) : []
        return { id: String(id), document: held.length > 0 ? { ...own, roles: held } : own }
      })
      await app.seeding.insert(resource, stored)
    }
    const records = recordsReader(app, join(folder, 'data/decisions.log'))
    await use({ app, env, ask: (...asked) => ask(app, world, ...asked), records })
  } finally {
    await app.drain()
    await removeFolder(folder)
  }
}

/** A database keeps keys only encrypted. */
const KEYS_SECRET = randomBytes(32).toString('base64')

/** The token of the world's caller. */
const WORLDS = 'world'

const CREDENTIALS: Readonly<Record<string, string>> = { 'api-key': 'key k1', provider: 'issuer https://id.example' }

export function callerOf({ caller: { id = '', record, credential = 'password', ...more } }: World): Caller {
  return { id, ...more, credential: CREDENTIALS[credential] }
}

function verified(caller: Caller | undefined): Authentication {
  return caller
    ? { kind: 'caller', caller }
    : { kind: 'rejected', code: 'token-invalid', reason: 'no caller has this token' }
}

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
}

function schemaOf({ name, fields, routes }: Resource): Json {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: name,
    type: 'object',
    'x-resource': { routes: routes.map(declared) },
    properties: Object.fromEntries([...fields.values()].map((field) => [field.name, fieldSchema(field)])),
    additionalProperties: false,
  }
}

function declared({ path, endpoints }: Route): Json {
  const served = [...endpoints].filter(([method]) => method !== 'OPTIONS')
  const own = served.find(([, { operation, action }]) => operation !== action)?.[1].action
  return { path, methods: served.map(([method]) => method), ...(own === undefined ? {} : { action: own }) }
}

function fieldSchema({ type, list, readOnly, indexed, time, default: preset }: Field): Plain {
  const value = { type: type === 'other' ? 'string' : type, ...(time ? { format: 'date-time' } : {}) }
  return {
    ...(list ? { type: 'array', items: value } : value),
    ...(readOnly ? { readOnly } : {}),
    ...(indexed ? { 'x-index': true } : {}),
    ...(preset === undefined ? {} : { default: preset }),
  }
}

async function ask(
  { url }: App,
  { address, caller }: World,
  method: string,
  path: string,
  { body, headers = {}, as }: Asking = {},
): Promise<Told> {
  const token = as ?? (caller.id === undefined ? undefined : WORLDS)
  const answer = await fetch(url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(address === undefined ? {} : { 'X-Forwarded-For': address }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : JSON.parse(text) }
}
