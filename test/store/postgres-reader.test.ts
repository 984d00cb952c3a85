/** Rows of PostgreSQL whose keys, by which lists and conditions find objects, aren't those of their document. */
import { expect } from 'chai'
import { openPostgresReader } from '../../src/store/postgres/reader/reader.ts'
import { NEW_YEAR } from './engine.ts'
import { creation, RESOURCES, resource } from './fixture.ts'
import { createSchema } from './postgres-schemas.ts'

const THINGS = RESOURCES.byName.get('things') ?? resource('things', [])

describe('a reader of a database of PostgreSQL', () => {
  it('names the fields of a row whose keys or times disagree with its document', async () => {
    const schema = await createSchema()
    const { store } = await schema.open({ resources: RESOURCES, now: () => new Date(NEW_YEAR) })
    const document = { status: 'x', due: NEW_YEAR, tags: ['a'], 'o\u0000dd': 1 }
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const id of ids) await store.create(creation(id, document))
    const raw = await schema.raw()
    const changes = [
      `keys = keys || '{"status":["2y"]}'`,
      `keys = keys - 'status' - 'tags'`,
      `keys = keys || '{"new":["2x"]}'`,
      `times = '{}'`,
      `keys = '[]'`,
      `document = '{"status":"y","due":"2026-01-01T00:00:00.000Z","tags":["a"],"o\\u0000dd":1}'`,
    ]
    for (const [n, change] of changes.entries()) {
      await raw.query(`update objects_things set ${change} where id = '${ids[n]}'`)
    }
    const reader = await openPostgresReader(schema.url)
    const rows = await reader.rows(THINGS, { limit: 10 })
    expect(rows.map(({ disagreeing }) => disagreeing)).to.deep.equal([
      ['status'],
      ['status', 'tags'],
      ['new'],
      ['due'],
      ['due', 'o\u0000dd', 'status', 'tags'],
      ['status'],
      [],
    ])
    await reader.close()
    await schema.remove()
  })
})
