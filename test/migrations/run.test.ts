/** A run of migrations: every object goes through every step once, however often the run stops. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { ParsedMigration } from '../../src/migrations/file/read-migrations.ts'
import { MigrationRefused } from '../../src/migrations/run/pending.ts'
import { type MigrateOptions, runMigrations } from '../../src/migrations/run/run-migrations.ts'
import { LeaseLost } from '../../src/store/errors.ts'
import type { Batch } from '../../src/store/migrations.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { runs } from '../runs.ts'
import { change, failure, type Opened } from '../store/fixture.ts'
import { migrationOf, schemasWith } from './fixture.ts'

const TEXT = { type: 'string' }
const OLD = schemasWith({ notes: { title: TEXT, size: TEXT }, tasks: { name: TEXT } })
const NEW = schemasWith({ notes: { heading: TEXT, size: TEXT }, tasks: { label: TEXT } })

const RENAME = migrationOf(
  '0001-names',
  `resources:
    notes: [rename: { from: title, to: heading }]
    tasks: [rename: { from: name, to: label }]`,
)
const GONE = migrationOf('0002-gone', 'resources: { notes: [delete: { where: { size: [gone] } }] }')

/** Not the same when it is done twice. */
const SWAP = (number: number) =>
  migrationOf(
    `000${number}-swap`,
    `resources:
      notes: [map: { field: size, values: [{ from: a, to: b }, { from: b, to: c }, { from: c, to: a }] }]`,
  )

describe('a run of migrations', () => {
  let opened: Opened
  let options: Omit<MigrateOptions, 'files'>
  beforeEach(async () => {
    opened = await openSqlite({ file: ':memory:', resources: OLD, now: () => new Date() })
    options = { store: opened.migrations, resources: NEW, now: () => new Date(), hidesIds: () => false, atOnce: 3 }
  })
  afterEach(() => opened.store.close())

  async function fill(count: number, size = 'a'): Promise<void> {
    const ids = Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)
    await opened.seeding.insert(
      'notes',
      ids.map((id) => ({ id, document: { title: id, size } })),
    )
    await opened.seeding.insert('tasks', [{ id: 't1', document: { name: 'x' } }])
  }

  it('takes all pending ones in one pass: one new version, and a record for each that changed something', async () => {
    await fill(4)
    await opened.store.update(change('n001', 1, { title: 'x', size: 'gone' }, 'notes'))
    const result = await runMigrations({ ...options, files: [RENAME, GONE], atOnce: 100 })
    expect(result).to.include({ kind: 'ended', objects: 5 })
    expect(await opened.store.get('notes', 'n000')).to.deep.include({
      version: 2,
      document: { heading: 'n000', size: 'a' },
    })
    expect(await opened.store.get('notes', 'n001')).to.equal(undefined)
    expect((await opened.store.get('tasks', 't1'))?.document).to.deep.equal({ label: 'x' })
    const records = (await opened.outbox.waiting(9)).map(({ record }) => JSON.parse(record))
    expect(records.map(({ subject, resource, migrated }) => [subject, resource, migrated])).to.deep.equal([
      ['migration:0001', 'notes', { changed: ['n000', 'n001', 'n002', 'n003'], deleted: [] }],
      ['migration:0002', 'notes', { changed: [], deleted: ['n001'] }],
      ['migration:0001', 'tasks', { changed: ['t1'], deleted: [] }],
    ])
    const stored = await opened.migrations.stored()
    expect(stored.map(({ name, objects, endedAt }) => [name, objects, endedAt !== undefined])).to.deep.equal([
      ['0001-names', 5, true],
      ['0002-gone', 1, true],
    ])
    expect(await runMigrations({ ...options, files: [RENAME, GONE] })).to.deep.include({
      kind: 'ended',
      ran: [],
      objects: 0,
    })
  })

  it('leaves a gap after a slow batch, in which servers can write', async () => {
    await fill(4)
    const gaps: number[] = []
    let ended: number | undefined
    const store = {
      ...bound(opened),
      async change(batch: Batch) {
        if (ended !== undefined) gaps.push(performance.now() - ended)
        await sleep(300)
        await opened.migrations.change(batch)
        ended = performance.now()
      },
    }
    await runMigrations({ ...options, store, files: [RENAME] })
    expect(gaps).to.have.length(2)
    // A timer may be early by a millisecond.
    for (const gap of gaps) expect(gap).to.be.at.least(28)
  })

  it('leaves objects alone that need no change: version and time stay', async () => {
    await opened.seeding.insert('notes', [{ id: 'n1', document: { heading: 'new already' } }])
    const before = await opened.store.get('notes', 'n1')
    await runMigrations({ ...options, files: [RENAME] })
    expect(await opened.store.get('notes', 'n1')).to.deep.equal(before)
    expect(await opened.outbox.waiting(9)).to.deep.equal([])
  })

  it('hides ids in its records where masks.yaml hides them', async () => {
    await fill(1)
    await runMigrations({ ...options, files: [RENAME], hidesIds: (resource) => resource === 'notes' })
    expect((await opened.outbox.waiting(9)).map(({ record }) => record).join()).not.to.contain('n000')
  })

  it('changes nothing if an object would not fit afterwards, and names it with the reason', async () => {
    await fill(5)
    await opened.seeding.insert('notes', [{ id: 'odd', document: { title: 'x', colour: 'red' } }])
    const result = await runMigrations({ ...options, files: [RENAME] })
    expect(result.kind).to.equal('unfit')
    expect(result.rehearsal.firstMisfits.map(({ id, resource }) => `${resource} ${id}`)).to.deep.equal(['notes odd'])
    expect((await opened.store.get('notes', 'n000'))?.version).to.equal(1)
    expect(await opened.migrations.stored()).to.deep.equal([])
  })

  it('also looks at resources without steps, if their schemas have changed', async () => {
    await opened.seeding.insert('tasks', [{ id: 't1', document: { name: 'x' } }])
    const notes = migrationOf('0001-notes', 'resources: { notes: [rename: { from: title, to: heading }] }')
    expect((await runMigrations({ ...options, files: [notes] })).kind).to.equal('unfit')
    const same = schemasWith({ notes: { heading: TEXT, size: TEXT }, tasks: { name: TEXT } })
    expect((await runMigrations({ ...options, resources: same, files: [notes] })).kind).to.equal('ended')
  })

  it('stops after a batch when it is told to, and goes on where it was', async () => {
    await fill(10)
    const stop = new AbortController()
    const onProgress: MigrateOptions['onProgress'] = (phase) => phase === 'changing' && stop.abort()
    expect((await runMigrations({ ...options, files: [RENAME], signal: stop.signal, onProgress })).kind).to.equal(
      'stopped',
    )
    expect(await versions()).to.deep.equal([...Array(3).fill(2), ...Array(7).fill(1)])
    expect((await runMigrations({ ...options, files: [RENAME] })).kind).to.equal('ended')
    expect(await versions()).to.deep.equal(Array(10).fill(2))
  })

  it('takes every object through every step once, whatever stops it, and whichever files join', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.array(fc.record({ stopAfter: fc.integer({ min: 1, max: 4 }), joins: fc.boolean() }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 4 }),
        async (count, stops, atOnce) => {
          const fresh = await openSqlite({ file: ':memory:', resources: OLD, now: () => new Date() })
          const ids = Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)
          await fresh.seeding.insert(
            'notes',
            ids.map((id) => ({ id, document: { size: 'a' } })),
          )
          const files: ParsedMigration[] = [SWAP(1)]
          const own = { ...options, store: fresh.migrations, atOnce }
          for (const { stopAfter, joins } of stops) {
            const stop = new AbortController()
            let left = stopAfter
            const onProgress: MigrateOptions['onProgress'] = (phase) => {
              if (phase === 'changing') left -= 1
              if (left === 0) stop.abort()
            }
            await runMigrations({ ...own, files, signal: stop.signal, onProgress })
            if (joins) files.push(SWAP(files.length + 1))
          }
          await runMigrations({ ...own, files })
          const sizes = await Promise.all(ids.map(async (id) => (await fresh.store.get('notes', id))?.document.size))
          expect(sizes).to.deep.equal(ids.map(() => 'abc'.charAt(files.length % 3)))
          await fresh.store.close()
        },
      ),
      { numRuns: runs(150) },
    )
  })

  it('loses no write of a client beside it, and migrates what the client wrote', async () => {
    await fill(30)
    let written = 0
    const onProgress: MigrateOptions['onProgress'] = (phase) => {
      if (phase !== 'changing' || written === 5) return
      written += 1
      // Of the next batch, which may have been read: the store decides.
      void opened.store.update(change(`n0${20 + written}`, 1, { title: `client ${written}` }, 'notes'))
    }
    await runMigrations({ ...options, files: [RENAME], onProgress })
    for (let n = 1; n <= 5; n += 1) {
      expect((await opened.store.get('notes', `n0${20 + n}`))?.document).to.deep.equal({ heading: `client ${n}` })
    }
  })

  const refusals: readonly (readonly [string, readonly ParsedMigration[], readonly ParsedMigration[], RegExp])[] = [
    [
      'a file that changed after it ran',
      [RENAME],
      [{ ...RENAME, digest: 'other' }],
      /`0001-names` has changed since it ran/,
    ],
    [
      'a file with another name',
      [RENAME],
      [{ ...RENAME, name: '0001-other' }],
      /`0001-other` has changed since it ran as `0001-names`/,
    ],
    ['a new file with a lower number', [GONE], [RENAME, GONE], /`0001-names` is new, but 0002 has run already/],
  ]
  for (const [what, first, then, message] of refusals) {
    it(`is refused with what to do: ${what}`, async () => {
      await runMigrations({ ...options, files: first })
      const error = await failure(runMigrations({ ...options, files: then }))
      expect(error).to.be.instanceOf(MigrationRefused)
      expect((error as Error).message).to.match(message)
    })
  }

  it('is refused if the file of a migration that has begun is missing or has changed', async () => {
    await fill(10)
    const stop = new AbortController()
    await runMigrations({
      ...options,
      files: [RENAME],
      signal: stop.signal,
      onProgress: (phase) => phase === 'changing' && stop.abort(),
    })
    expect(String(await failure(runMigrations({ ...options, files: [] })))).to.match(
      /has begun, but its file is missing/,
    )
    const changed = { ...RENAME, digest: 'other' }
    expect(String(await failure(runMigrations({ ...options, files: [changed] })))).to.match(
      /has changed since it began/,
    )
  })

  it('is refused while another process migrates, and takes over from a dead one', async () => {
    await fill(1)
    await opened.migrations.hold('somebody')
    const other = { ...opened.migrations, ...bound(opened), hold: async () => false }
    const error = await failure(runMigrations({ ...options, store: other, files: [RENAME], patienceMs: 50 }))
    expect(error).to.be.instanceOf(MigrationRefused)
    expect((await runMigrations({ ...options, files: [RENAME] })).kind).to.equal('ended')
  })

  it('ends at once when it loses the lease', async () => {
    await fill(9)
    let asked = 0
    const lost = { ...bound(opened), hold: async (holder: string) => ++asked < 8 && opened.migrations.hold(holder) }
    expect(await failure(runMigrations({ ...options, store: lost, files: [RENAME] }))).to.be.instanceOf(LeaseLost)
  })

  async function versions(): Promise<readonly number[]> {
    return (await opened.migrations.objects('notes', undefined, 100)).map(({ version }) => version)
  }
})

/** The methods of a class as those of an object, so that some can be replaced. */
function bound({ migrations }: Opened): Opened['migrations'] {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(migrations)) as (keyof Opened['migrations'])[]
  return Object.fromEntries(
    names.map((name) => [name, (migrations[name] as () => unknown).bind(migrations)]),
  ) as unknown as Opened['migrations']
}
