/** Creates on PostgreSQL that wait together are one statement; each is done or refused by itself, with its record. */
import { expect } from 'chai'
import fc from 'fast-check'
import pg from 'pg'
import { StoreUnavailable, UniqueTaken } from '../../src/store/errors.ts'
import { runs } from '../runs.ts'
import { ALL } from './engine.ts'
import { creation, failure, type Opened, RESOURCES } from './fixture.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const now = () => new Date('2026-01-01T00:00:00.000Z')

describe('creates that wait together on PostgreSQL', () => {
  let schema: TestSchema
  let opened: Opened
  beforeEach(async () => {
    schema = await createSchema()
    opened = await schema.open({ resources: RESOURCES, now })
  })
  afterEach(() => schema.remove())

  it('are one statement, with their records in the order in which they were asked for', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => `n${20 - n}`)
    const texts = await textsOf(() =>
      Promise.all(ids.map((id) => opened.store.create(creation(id, { id }), { record: id }))),
    )
    // The transaction begins, creates and commits.
    expect(texts.length).to.equal(3)
    const records = await opened.outbox.waiting(100)
    expect(records.map(({ record }) => record)).to.deep.equal(ids)
    for (const id of ids) expect((await opened.store.get('things', id))?.document).to.deep.equal({ id })
  })

  it('fail alone, each with its own error, and leave no record', async () => {
    const { store, outbox } = opened
    await store.create(creation('there', { code: 'x' }))
    // No index can hold it: this fails the whole statement.
    const long = Array.from({ length: 5000 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000))).join('')
    const answers = await Promise.all([
      failure(store.create(creation('there', {}), { record: 'id is taken' })),
      failure(store.create(creation('b', { code: 'x' }), { record: 'code is taken' })),
      store.create(creation('c', { code: 'y' }), { record: 'c' }),
      failure(store.create(creation('c', {}), { record: 'twice' })),
      failure(store.create(creation('d', { code: 'y' }), { record: 'code of c' })),
      failure(store.create(creation(long, {}), { record: 'long' })),
      store.create(creation('e', {}), { record: 'e' }),
    ])
    const [id, code, , twice, sameCode, tooLong] = answers
    for (const error of [id, code, twice, sameCode]) expect(error).to.be.instanceOf(UniqueTaken)
    const fields = [id, code, twice, sameCode].map((error) => (error as UniqueTaken).field)
    expect(fields).to.deep.equal(['id', 'code', 'id', 'code'])
    expect(tooLong).to.be.instanceOf(StoreUnavailable)
    expect((await outbox.waiting(100)).map(({ record }) => record).toSorted()).to.deep.equal(['c', 'e'])
  })

  it('do what they do one by one, whatever stands in their way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(randomCreate, { minLength: 1, maxLength: 8 }), async (creates) => {
        expect(await resultOf(creates, 'together')).to.deep.equal(await resultOf(creates, 'one by one'))
      }),
      { numRuns: runs(25) },
    )
  })
})

interface RandomCreate {
  readonly id: string
  readonly code: string | undefined
  /** An idempotency key: such a create has a statement of its own. */
  readonly key: string | undefined
  readonly record: boolean
}

/** Few values, so that they often meet. */
const randomCreate: fc.Arbitrary<RandomCreate> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e\0'),
  code: fc.constantFrom('x', 'y', undefined),
  key: fc.constantFrom('k', undefined, undefined),
  record: fc.boolean(),
})

/** What was answered, and all that is there then. */
async function resultOf(creates: readonly RandomCreate[], how: 'together' | 'one by one') {
  const schema = await createSchema()
  const { store, outbox } = await schema.open({ resources: RESOURCES, now })
  const create = ({ id, code, key, record }: RandomCreate, n: number) => {
    const document = { n, ...(code !== undefined && { code }) }
    const replay = key === undefined ? undefined : { subject: 's', route: '/things', key, fingerprint: `${n}` }
    const write = store.create(creation(id, document), { replay, ...(record && { record: `${n}` }) })
    // A create that is refused may find more in its way when it is sent again: its error may name another field.
    return write.then(
      (value) => JSON.stringify(value),
      ({ name }) => String(name),
    )
  }
  const answers: string[] = []
  if (how === 'together') answers.push(...(await Promise.all(creates.map(create))))
  else for (const [n, one] of creates.entries()) answers.push(await create(one, n))
  const ids = (await store.list('things', ALL)).map(({ id }) => id)
  const objects = await Promise.all(ids.map((id) => store.get('things', id)))
  const records = (await outbox.waiting(100)).map(({ record }) => record)
  await schema.remove()
  return { answers, objects, records }
}

/** The texts of the statements that the work sends. */
async function textsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const { query } = pg.Client.prototype
  const texts: string[] = []
  pg.Client.prototype.query = function (this: pg.Client, config: { readonly text: string }, ...given: unknown[]) {
    texts.push(config.text)
    return Reflect.apply(query, this, [config, ...given])
  } as typeof query
  try {
    await work()
    return texts
  } finally {
    pg.Client.prototype.query = query
  }
}
