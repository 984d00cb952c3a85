/**
 * The rows of a filter are those on which an evaluation of the same question is true, one by one: random policies and
 * rows with nulls and lists, in plain tables of a real PostgreSQL and a real SQLite.
 */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { instantOf } from '../../../src/base/time.ts'
import { directPolicy } from '../../../src/decide/grants/direct.ts'
import type { ActivePolicy } from '../../../src/policy/live/active-policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { Field, Json, Representation, Resource } from '../../../src/resources/resource.ts'
import { evaluate } from '../../../src/server/authzen/ask.ts'
import type { Sql } from '../../../src/server/authzen/filter/condition-sql.ts'
import { type FilterRequest, filter, filterBodyOf, readForms } from '../../../src/server/authzen/filter/filter.ts'
import { type Pep, pepOf } from '../../../src/server/authzen/pep.ts'
import { SliceQueue } from '../../../src/server/slices.ts'
import { type Asked, askedAbout } from '../../policy/arbitrary-language.ts'
import { LANGUAGE_RESOURCES, STORED } from '../../policy/language-fixture.ts'
import { factsOf, filesOfWorld } from '../../policy/language-product.ts'
import type { World } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { type ForeignDatabase, openForeignPostgres, openForeignSqlite, type PlainTable } from './plain-tables.ts'

/** A random world, asked about the objects of one resource, by a service that heeds fields and by one that doesn't. */
interface Questions {
  readonly asked: Asked
  readonly actions: readonly string[]
  /** For questions about some fields. */
  readonly fields: readonly string[]
}

interface Question {
  readonly world: World
  readonly action: string
  readonly fields: readonly string[] | undefined
  readonly understandsFields: boolean
}

const randomQuestions: fc.Arbitrary<Questions> = askedAbout(...STORED, ...STORED.slice(0, 1)).chain((asked) => {
  const { fields, actions } = resourceOf(asked.world.resource.name)
  const onRows = [...actions.keys()].filter((action) => action !== 'create' && action !== 'options')
  return fc.record({
    asked: fc.constant(withTimes(asked)),
    actions: fc.subarray(onRows, { minLength: 1, maxLength: 2 }),
    fields: fc.subarray([...fields.keys(), 'nothing'], { minLength: 1, maxLength: 3 }),
  })
})

function questionsOf({ asked: { world }, actions, fields }: Questions): readonly Question[] {
  return actions.flatMap((action) => [
    { world, action, fields: undefined, understandsFields: true },
    { world, action, fields: undefined, understandsFields: false },
    { world, action, fields, understandsFields: true },
  ])
}

function resourceOf(name: string): Resource {
  const resource = LANGUAGE_RESOURCES.byName.get(name)
  if (!resource) throw new Error(`there is no resource ${name}`)
  return resource
}

/** A column of times holds nothing else. */
function withTimes({ world, ...more }: Asked): Asked {
  const objects = [...(world.objects ?? [])].map(([name, all]) => {
    const times = [...resourceOf(name).fields.values()].filter(({ time }) => time)
    const typed = all.map((one) => ({
      ...one,
      ...Object.fromEntries(times.map((field) => [field.name, timeIn(one[field.name])])),
    }))
    return [name, typed] as const
  })
  return { ...more, world: { ...world, objects: new Map(objects) } }
}

function timeIn(value: unknown): Json {
  return typeof value === 'string' ? (instantOf(value) ?? null) : null
}

function pepIn(world: World): Pep {
  const { now = 0, caller } = world
  const snapshot = directPolicy(parsePolicy(filesOfWorld(world), LANGUAGE_RESOURCES), LANGUAGE_RESOURCES, now)
  const facts = factsOf(world)
  const policy = { revision: 'r', snapshot, blocked: new Map() } as unknown as ActivePolicy
  const parts = {
    resources: LANGUAGE_RESOURCES,
    store: { get: facts.object, lookup: facts.lookup },
    directory: { accountStatus: () => ({ roles: caller.roles, disabled: false, deleted: false }) },
    publicUrl: () => '',
    slices: new SliceQueue(),
  } as unknown as Parameters<typeof pepOf>[0]
  return pepOf(parts, {
    caller: undefined,
    address: '127.0.0.1',
    gone: () => new AbortController().signal,
    policy,
    at: now,
  })
}

function requestOf({ world, action, fields }: Question): FilterRequest {
  return {
    subject: { type: 'user', id: world.caller.id ?? 'nobody' },
    action: { name: action },
    resource: { type: world.resource.name },
    ...(fields && { context: { fields } }),
  }
}

/** The objects on which an evaluation is true, with the fields that it tells. */
async function evaluated(question: Question, pep: Pep): Promise<Rows> {
  const request = requestOf(question)
  const rows: [string, readonly string[]][] = []
  for (const { id } of objectsIn(question.world, request.resource.type)) {
    const { decision, fields } = await evaluate(pep, {
      ...request,
      resource: { ...request.resource, id: String(id) },
    })
    if (decision) rows.push([String(id), fields?.toSorted() ?? []])
  }
  return Object.fromEntries(rows)
}

function objectsIn({ objects }: World, resource: string): readonly Representation[] {
  return (objects?.get(resource) ?? []) as readonly Representation[]
}

type Rows = Readonly<Record<string, readonly string[]>>

async function filtered(
  question: Question,
  { pep, database, change }: { pep: Pep; database: ForeignDatabase; change: (sql: Sql) => Sql },
): Promise<Rows> {
  const request = requestOf(question)
  const name = request.resource.type
  const related = Object.fromEntries(STORED.map((one) => [one.name, { table: one.name }]))
  const sql = { dialect: database.dialect.name, table: name, related }
  const { rows } = await filter(pep, request)
  const told = filterBodyOf(rows, readForms({ sql }, LANGUAGE_RESOURCES, name))
  const idsOf = (part: Sql | undefined) =>
    database.select('id', name, part ? change(part) : { text: 'null', parameters: [] })
  const ids = await idsOf(told.sql)
  const tellsFields = question.understandsFields && question.fields === undefined
  const shown = new Map(ids.map((id) => [id, tellsFields ? [...(told.fields?.always ?? [])] : []]))
  for (const group of told.fields?.sometimes ?? []) {
    for (const id of await idsOf(group.sql)) shown.get(id)?.push(...group.fields)
  }
  return Object.fromEntries([...shown].map(([id, fields]) => [id, fields.toSorted()]))
}

function tableOf({ name, fields }: Resource, { dialect }: ForeignDatabase): PlainTable {
  const columns = [...fields.values()].map((field) => ({
    name: field.name,
    type: columnType(field, dialect.name),
    inRow: (object: Representation) => stored(object[field.name] ?? null, dialect.name),
  }))
  return { name, columns }
}

function columnType({ type, time, list }: Field, engine: 'postgresql' | 'sqlite'): string {
  if (engine === 'sqlite') return type === 'number' ? 'real' : 'text'
  if (list) return 'text[]'
  return type === 'number' ? 'numeric' : time ? 'timestamptz' : 'text'
}

function stored(value: Json, engine: 'postgresql' | 'sqlite'): unknown {
  return engine === 'sqlite' && Array.isArray(value) ? JSON.stringify(value) : value
}

const ENGINES: Readonly<Record<string, () => Promise<ForeignDatabase>>> = {
  PostgreSQL: openForeignPostgres,
  SQLite: async () => openForeignSqlite(),
}

for (const [engine, open] of Object.entries(ENGINES)) {
  describe(`a filter for a plain table of ${engine}`, () => {
    let database: ForeignDatabase

    before(async () => {
      database = await open()
      for (const resource of STORED) await database.create(tableOf(resource, database))
    })

    after(() => database.close())

    const equalsEvaluations = (change = (sql: Sql) => sql) =>
      fc.asyncProperty(randomQuestions, async (questions) => {
        const { world } = questions.asked
        for (const one of STORED) await database.fill(tableOf(one, database), objectsIn(world, one.name))
        const asking = pepIn(world)
        for (const question of questionsOf(questions)) {
          const { action, fields, understandsFields } = question
          const pep = { ...asking, trust: { ...asking.trust, understandsFields } }
          const found = await filtered(question, { pep, database, change })
          expect(found, JSON.stringify({ action, fields, understandsFields })).to.deep.equal(
            await evaluated(question, pep),
          )
        }
      })

    it('finds the rows on which an evaluation is true, and tells the same fields', () =>
      fc.assert(equalsEvaluations(), { numRuns: runs(engine === 'SQLite' ? 250 : 80) }))

    it('is compared so that a filter is found out that forgets that NULL is neither true nor false', async () => {
      const plain = ({ text, parameters }: Sql) => ({
        text: text.replaceAll(') is not true)', ') = false)'),
        parameters,
      })
      const outcome = await fc.check(equalsEvaluations(plain), { numRuns: 3000, seed: 33, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  })
}
