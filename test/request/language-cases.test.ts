/** The worked cases of the language over real HTTP: their files, a server of their own, and what is stored in SQLite. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pino from 'pino'
import { stringify } from 'yaml'
import { FileError } from '../../src/base/diagnostic.ts'
import { readConfig } from '../../src/config/config.ts'
import type { Caller } from '../../src/decide/caller.ts'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { represent, type StoredObject } from '../../src/resources/object.ts'
import { type App, startApp } from '../../src/server/app.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { LANGUAGE_CASES, type LanguageCase } from '../policy/language-cases.ts'
import { filesOf } from '../policy/render.ts'
import type { Json } from '../policy/world.ts'

const METHODS: Readonly<Record<string, string>> = {
  list: 'GET',
  read: 'GET',
  create: 'POST',
  replace: 'PUT',
  update: 'PATCH',
  delete: 'DELETE',
  options: 'OPTIONS',
}

/** As decision records name them. */
const CREDENTIALS: Readonly<Record<string, string>> = { 'api-key': 'key k1', provider: 'issuer https://id.example' }

/** Where built-in resources of the cases are; what they answer where the policy allows the request. */
const BUILT_IN: Readonly<Record<string, { readonly path: string; readonly status: number }>> = {
  'system/health': { path: '/livez', status: 200 },
  'system/tokens': { path: '/api/tokens', status: 200 },
}
const ALLOWED = 204

const [CASES, REFUSED, BUILT_IN_CASES] = [
  LANGUAGE_CASES.filter((one) => one.expect.error === undefined && !(one.request.resource in BUILT_IN)),
  LANGUAGE_CASES.filter((one) => one.expect.error !== undefined),
  LANGUAGE_CASES.filter((one) => one.request.resource in BUILT_IN),
]

/** A merge patch that sets fields reads nothing, as `add` doesn't in a JSON Patch. */
function isOfWholeFields({ request: { action, operation = action, body = {} } }: LanguageCase): boolean {
  const values = Object.values(body)
  return (
    operation === 'update' && values.length > 0 && values.every((one) => typeof one !== 'object' || Array.isArray(one))
  )
}

describe('a server', () => {
  for (const one of CASES) {
    it(`answers as expected: ${one.about}: ${one.name}`, async () => {
      await answering(one, async (app) => {
        const told = await ask(app, one)
        expect(told.status, told.text).to.equal(one.expect.status)
        expect(told.asksToSignIn).to.equal(one.expect.stepUp !== undefined)
        await compareContent(app, one, told)
      })
    })
  }

  for (const one of CASES.filter(isOfWholeFields)) {
    it(`answers a JSON Patch alike: ${one.about}: ${one.name}`, async () => {
      await answering(one, async (app) => {
        const body = Object.entries(one.request.body ?? {}).map(([name, value]) => ({
          op: 'add',
          path: `/${name}`,
          value,
        }))
        const told = await ask(app, one, { sent: { body, type: 'application/json-patch+json' } })
        expect(told.status, told.text).to.equal(one.expect.status)
        expect(told.asksToSignIn).to.equal(one.expect.stepUp !== undefined)
        await compareContent(app, one, told)
      })
    })
  }

  for (const one of BUILT_IN_CASES) {
    it(`answers as expected: ${one.about}: ${one.name}`, async () => {
      const { path = '', status = 0 } = BUILT_IN[one.request.resource] ?? {}
      const wanted = one.expect.status === ALLOWED ? status : one.expect.status
      await answering(one, async (app) => {
        expect((await ask(app, one, { path })).status).to.equal(wanted)
      })
    })
  }

  for (const one of REFUSED) {
    it(`starts with no such policy: ${one.about}: ${one.name}`, async () => {
      const error: unknown = await answering(one, async () => undefined).catch((reason) => reason)
      expect(error).to.be.instanceOf(FileError)
      expect((error as FileError).diagnostics.map(({ code }) => code)).to.include(one.expect.error)
    })
  }

  it('is asked about all cases, many of them also as JSON Patches', () => {
    expect(CASES.length + REFUSED.length + BUILT_IN_CASES.length).to.equal(LANGUAGE_CASES.length)
    expect([REFUSED.length, BUILT_IN_CASES.length]).to.deep.equal([11, 2])
    expect(CASES.filter(isOfWholeFields).length).to.be.greaterThan(30)
  })
})

interface Told {
  readonly status: number
  readonly asksToSignIn: boolean
  readonly text: string
  /** The id of a new object, from `Location`. */
  readonly newId: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answered
  readonly body: any
}

async function compareContent(app: App, one: LanguageCase, told: Told): Promise<void> {
  const { shows, ids, rows, object, queryable } = one.expect
  if (shows) expect(Object.keys(told.body ?? {}).filter(isTold)).to.have.members(shows as readonly string[])
  if (ids) expect(await listed(app, one, told)).to.deep.equal(ids)
  if (rows) expect(rowsOf(told)).to.deep.equal(rows)
  if (object) expect(await written(app, one, told)).to.deep.equal(object)
  if (queryable) expect(await sortable(app, one)).to.deep.equal(queryable)
}

/** By which of the fields that have an index a list may be sorted. */
async function sortable(app: App, one: LanguageCase): Promise<readonly string[]> {
  const fields = ['id', ...(one.schemas[one.request.resource]?.indexed ?? [])].toSorted()
  const statuses = await Promise.all(
    fields.map(async (name) => (await ask(app, one, { query: `?sort=${name}` })).status),
  )
  return fields.filter((_, i) => statuses[i] === 200)
}

async function answering(one: LanguageCase, use: (app: App) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-case-'))
  await writeFiles(one, folder)
  const config = readConfig(
    {
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: join(folder, 'data'),
      POLICIES: join(folder, 'policies'),
      SCHEMAS: join(folder, 'schemas'),
      TRUST_PROXY: '127.0.0.1,::1',
    },
    { demo: false },
  )
  const now = () => new Date(one.request.now)
  const app = await startApp({ config, log: pino({ level: 'silent' }), verifier: verifierOf(one), now })
  try {
    for (const [resource, objects] of Object.entries(one.objects)) {
      const stored = objects.map(({ id, createdAt: _, ...document }) => ({ id: String(id), document }))
      await app.seeding.insert(resource, stored)
    }
    await use(app)
  } finally {
    await app.drain()
    await removeFolder(folder)
  }
}

async function writeFiles(one: LanguageCase, folder: string): Promise<void> {
  const lines = one.policy.map((line) => line.split(',').map((cell) => cell.trim()))
  const named = lines.flatMap(([kind = '', first = '', second = '']) => (kind === 'g' ? [first, second] : [first]))
  const roles = [...named, ...(one.caller?.roles ?? [])].filter((name) => /^[a-z-]+$/.test(name))
  const declared = roles.filter((name) => name !== 'everyone' && name !== 'anonymous')
  const policies = filesOf({
    'policy.csv': one.policy.join('\n'),
    'roles.yaml': stringify(Object.fromEntries(declared.map((role) => [role, { description: role }]))),
    'ownership.yaml': stringify(one.ownership ?? {}),
    'views.yaml': stringify(one.views ?? {}),
    ...(one.conditions ? { 'conditions.yaml': stringify(one.conditions) } : {}),
  })
  await mkdir(join(folder, 'policies'))
  await mkdir(join(folder, 'schemas'))
  for (const file of Object.values(policies)) if (file) await writeFile(join(folder, 'policies', file.name), file.text)
  await writeFile(join(folder, 'policies/blocked.txt'), '')
  const own = Object.keys(one.schemas)
  // No server starts without a resource.
  for (const name of own.length > 0 ? own : ['notes']) {
    await writeFile(join(folder, `schemas/${name}.json`), JSON.stringify(schemaOf(one, name)))
  }
}

function schemaOf(one: LanguageCase, name: string): Json {
  const { fields = [], readOnly = [], indexed = [], defaults = {}, lists = [] } = one.schemas[name] ?? {}
  const properties = fields.map((field): readonly [string, Json] => {
    const values = valuesIn(one, name, field)
    const isNumber = isRanged(one, name, field) || values.some((value) => typeof value === 'number')
    // A schema can't say "one or several", so a field that holds lists is a list where nothing is written.
    const isList = lists.includes(field) || (one.request.body === undefined && values.some(Array.isArray))
    const value = { type: isNumber ? 'number' : 'string' }
    return [
      field,
      {
        ...(isList ? { type: 'array', items: value } : value),
        ...(readOnly.includes(field) ? { readOnly: true } : {}),
        ...(indexed.includes(field) && !isList ? { 'x-index': true } : {}),
        ...(field in defaults ? { default: defaults[field] as Json } : {}),
      },
    ]
  })
  const server = ['id', 'createdAt', 'updatedAt'].map((field): readonly [string, Json] => {
    const index = field !== 'id' && indexed.includes(field) ? { 'x-index': true } : {}
    return [field, { type: 'string', readOnly: true, ...index }]
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: name,
    type: 'object',
    'x-resource': { routes: routesOf(one, name) },
    properties: Object.fromEntries([...properties, ...server]),
    additionalProperties: false,
  }
}

function routesOf({ request }: LanguageCase, name: string): readonly Json[] {
  const plain = [
    { path: `/${name}`, methods: ['GET', 'POST'] },
    { path: `/${name}/{id}`, methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
  ]
  if (name !== request.resource) return plain
  const { action, operation = action, view } = request
  const isOwn = operation !== action
  const path = request.id === undefined ? `/case/${name}` : `/case/${name}/{id}`
  const methods = operation === 'options' ? ['GET'] : [METHODS[operation] as string]
  return [...plain, { path, methods, ...(isOwn ? { action } : {}), ...(view === undefined ? {} : { view }) }]
}

/** The values that the case stores or sends. */
function valuesIn({ objects, request }: LanguageCase, resource: string, field: string): readonly (Json | undefined)[] {
  const sent = request.resource === resource ? [request.body?.[field]] : []
  return [...(objects[resource] ?? []).map((object) => object[field]), ...sent]
}

function isRanged({ ownership = {} }: LanguageCase, resource: string, field: string): boolean {
  return Object.values(ownership[resource]?.relations ?? {}).some(
    (form) =>
      typeof form === 'object' && 'field' in form && form.field === field && ('atLeast' in form || 'atMost' in form),
  )
}

/** Takes any token for the case's caller. */
function verifierOf({ caller: asking }: LanguageCase): TokenVerifier {
  const { authTime, credential, ...known } = asking ?? { id: '', roles: [], claims: {}, credential: 'password' }
  const caller: Caller = {
    ...known,
    credential: CREDENTIALS[credential],
    ...(authTime === undefined ? {} : { authTime: Date.parse(authTime) }),
  }
  return { verify: () => ({ kind: 'caller', caller }) }
}

interface Asked {
  readonly path?: string
  readonly query?: string
  readonly sent?: { readonly body: unknown; readonly type: string }
}

async function ask({ url }: App, { request, caller }: LanguageCase, asked: Asked = {}): Promise<Told> {
  const { action, operation = action, resource, id, address } = request
  const { path = `/case/${resource}${id === undefined ? '' : `/${id}`}`, query = '' } = asked
  const { body, type } = asked.sent ?? { body: request.body, type: 'application/json' }
  const answer = await fetch(`${url}${path}${query}`, {
    method: METHODS[operation] as string,
    headers: {
      ...(caller ? { Authorization: 'Bearer some.token.here' } : {}),
      ...(address === undefined ? {} : { 'X-Forwarded-For': address }),
      ...(body ? { 'Content-Type': type } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await answer.text()
  const challenge = answer.headers.get('WWW-Authenticate') ?? ''
  return {
    status: answer.status,
    asksToSignIn: challenge.includes('insufficient_user_authentication'),
    text,
    newId: answer.headers.get('Location')?.split('/').at(-1),
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const TIMES: readonly string[] = ['createdAt', 'updatedAt']
const isTold = (field: string) => !TIMES.includes(field)

/** Which objects are listed, by their order in the case: a view may hide the ids. */
async function listed({ store }: App, { request, objects }: LanguageCase, { body }: Told): Promise<readonly string[]> {
  const rows = body.items as readonly Readonly<Record<string, unknown>>[]
  if (rows.every((row) => typeof row.id === 'string')) return rows.map((row) => String(row.id)).sort()
  const stored = await Promise.all(
    (objects[request.resource] ?? []).map(({ id }) => store.get(request.resource, String(id))),
  )
  const fits = (object: StoredObject | undefined) =>
    object && rows.some((row) => Object.entries(row).every(([name, value]) => represent(object)[name] === value))
  return stored.flatMap((object) => (fits(object) ? [object?.id ?? ''] : [])).sort()
}

function rowsOf({ body }: Told): object {
  const rows = body.items as readonly Readonly<Record<string, unknown>>[]
  return Object.fromEntries(
    rows.map((row, i) => [String(row.id ?? `n${i + 1}`), Object.keys(row).filter(isTold).sort()]),
  )
}

async function written({ store }: App, { request }: LanguageCase, told: Told): Promise<object> {
  const id = request.id ?? told.newId ?? ''
  const object = await store.get(request.resource, id)
  return { ...object?.document, id: request.id === undefined ? 'new' : id }
}
