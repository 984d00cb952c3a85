import { createReadStream } from 'node:fs'
import { readdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../../src/base/files/make-folder.ts'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { Document } from '../../src/resources/object.ts'
import type { Field } from '../../src/resources/resource.ts'
import type { Store } from '../../src/store/contract.ts'
import { StoreUnavailable, UnfitDatabase, UniqueTaken } from '../../src/store/errors.ts'
import { copySqlite, placeSqlite } from '../../src/store/sqlite/copies.ts'
import { openSqlite, openSqliteBeside } from '../../src/store/sqlite/open.ts'
import { holds } from './conditions.ts'
import { creation, failure, field, keepingChanges, resource, resourcesOf } from './fixture.ts'
import { Folder } from './folder.ts'
import { statementsOf } from './statements.ts'

describe('the database file', () => {
  const folder = Folder.ofEach()

  it("is its owner's alone, with its side files", async () => {
    const { store } = await folder.open()
    await store.create(creation('a', {}))
    const files = await readdir(folder.folder)
    expect(files).to.include.members(['data.sqlite', 'data.sqlite-wal'])
    for (const file of files) expect((await stat(path.join(folder.folder, file))).mode & 0o777, file).to.equal(0o600)
  })

  it('gives changes numbers after a restore that the lost writes never had, and tells their readers to begin anew', async () => {
    const resources = keepingChanges(3_600_000)
    const { store, changes } = await folder.open({ resources })
    await store.create(creation('a', {}))
    await makeFolder(path.join(folder.folder, 'copy'))
    const { file } = await copySqlite(folder.file, path.join(folder.folder, 'copy'))
    await store.create(creation('lost', {}))
    const seen = await changes.last()
    const restored = path.join(folder.folder, 'restored.sqlite')
    const place = placeSqlite(restored)
    await place.take(createReadStream(file))
    await place.finish()
    const again = await openSqlite({ file: restored, resources, now: () => new Date() })
    try {
      await again.store.create(creation('b', {}))
      const { changes: logged, since } = await again.changes.after(0, 10)
      expect(logged.map(({ id }) => id)).to.deep.equal(['a', 'b'])
      expect(logged.at(-1)?.number).to.be.greaterThan(seen)
      expect(since.get('things')).to.be.greaterThan(seen)
    } finally {
      await again.store.close()
    }
  })

  it('keeps the mode that somebody gave it', async () => {
    await writeFile(folder.file, '', { mode: 0o640 })
    await folder.open()
    expect((await stat(folder.file)).mode & 0o777).to.equal(0o640)
  })

  it('is written ahead, in strict tables, and every commit waits for the disk', async () => {
    const pragmas = await statementsOf(() => folder.open())
    expect(pragmas.join()).to.contain('synchronous = full')
    const raw = folder.raw()
    expect(raw.prepare('pragma journal_mode').get()?.journal_mode).to.equal('wal')
    const tables = raw
      .prepare("select name, strict from pragma_table_list where schema = 'main' and type = 'table'")
      .all()
    const own = tables.filter(({ name }) => !String(name).startsWith('sqlite_'))
    expect(own.map(({ name }) => name)).to.have.members([
      'objects_things',
      'objects_^Things',
      'secrets',
      'marks',
      'outbox',
      'changes',
      'kept_changes',
      'attempts',
      'leases',
      'accounts',
      'sessions',
      'api_keys',
      'migrations',
      'fitted_schemas',
      'replays',
    ])
    expect(own.every(({ strict }) => strict === 1)).to.equal(true)
  })

  it('has one secret of a name when two processes make it together: that of the first', async () => {
    const opened = [await folder.open(), await folder.open()]
    const secrets = await Promise.all(opened.map(({ store }) => store.secret('a')))
    expect(secrets[0]).to.have.length(32)
    expect(secrets[1]).to.deep.equal(secrets[0])
  })

  it('is refused when it is of a later version of the program, and left as it is', async () => {
    await folder.open()
    const raw = folder.raw()
    raw.exec('pragma user_version = 99')
    expect(await failure(folder.open()))
      .to.be.instanceOf(UnfitDatabase)
      .with.property('message')
      .that.contains('99')
    expect(raw.prepare('pragma user_version').get()?.user_version).to.equal(99)
  })

  it('is refused when it is not a database', async () => {
    await writeFile(folder.file, 'not a database, but long enough to be looked at'.repeat(100))
    expect(await failure(folder.open())).to.be.instanceOf(StoreUnavailable)
  })

  it('is refused when its folder is not there', async () => {
    const missing = await Folder.make()
    await missing.remove()
    expect(await failure(missing.open())).to.be.instanceOf(StoreUnavailable)
  })
})

describe('a database file whose resources changed', () => {
  const folder = Folder.ofEach()

  /** Opened with one resource `things` that has these fields, and the objects written. */
  async function reopen(fields: readonly Field[], documents: readonly Document[] = []): Promise<Store> {
    const { store, seeding } = await folder.open({ resources: resourcesOf(resource('things', fields)) })
    const first = await seeding.count('things')
    await seeding.insert(
      'things',
      documents.map((document, index) => ({ id: `t${first + index}`, document })),
    )
    return store
  }

  const listed = async (store: Store, where: Condition) =>
    (await store.list('things', { where, limit: 100 })).map((object) => object.id)

  it('finds old objects by a field that is indexed from now on', async () => {
    await (await reopen([field('a', 'string')], [{ a: 'x' }, { a: 'y' }])).close()
    const store = await reopen([field('a', 'string', { indexed: true })])
    expect(await listed(store, holds('a', 'y'))).to.deep.equal(['t1'])
  })

  it('finds old objects by their time as this version reads it', async () => {
    const due = field('due', 'string', { indexed: true, time: true })
    const documents = [{ due: '2026-02-28T00:00:00Z' }, { due: '2026-02-30T00:00:00Z' }]
    await (await reopen([due], documents)).close()
    const raw = folder.raw()
    const { sql } = raw.prepare("select sql from sqlite_schema where name = 'objects_things'").get() ?? {}
    const column = String(sql).slice(String(sql).indexOf('"t_due"'), -') strict'.length)
    raw.exec(`drop index "objects_things t_due ordered"; alter table objects_things drop column "t_due";
      alter table objects_things add column ${column.replace(/and date\(.*\n/, '')};
      create index "objects_things t_due ordered" on objects_things ("t_due", "id")`)
    const times = () => raw.prepare('select t_due from objects_things order by id').all()
    expect(times()[1]?.t_due).to.equal('2026-03-02T00:00:00.000Z')
    const beside = openSqliteBeside({
      file: folder.file,
      resources: resourcesOf(resource('things', [due])),
      now: () => new Date(),
    })
    expect(await failure(beside)).to.be.instanceOf(UnfitDatabase)
    await reopen([due])
    expect(times().map(({ t_due }) => t_due)).to.deep.equal(['2026-02-28T00:00:00.000Z', null])
    expect(
      raw.prepare("select name from sqlite_schema where type = 'index' and name glob '*t_due*'").all(),
    ).to.have.length(1)
  })

  it('holds old objects and new ones to a field that is unique from now on', async () => {
    await (await reopen([field('a', 'string', { indexed: true })], [{ a: 'x' }, {}, {}])).close()
    const store = await reopen([field('a', 'string', { unique: true })])
    expect(await failure(store.create(creation('new', { a: 'x' })))).to.be.instanceOf(UniqueTaken)
  })

  it('refuses to open with a unique field whose values are not, says which, and changes nothing', async () => {
    await (await reopen([field('a', 'string')], [{ a: 'x' }, { a: 'x' }])).close()
    const error = await failure(
      reopen([field('b', 'string', { indexed: true }), field('a', 'string', { unique: true })]),
    )
    expect(error).to.be.instanceOf(UnfitDatabase)
    expect((error as Error).message).to.contain('`a` of `things` is declared unique')
    expect(folder.raw().prepare("select name from pragma_table_xinfo('objects_things') where name = 'f_b'").all()).to.be
      .empty
    expect(await listed(await reopen([field('a', 'string')]), holds('a', 'x'))).to.have.length(2)
  })

  it('lets values repeat in a field that is no longer unique', async () => {
    await (await reopen([field('a', 'string', { unique: true })], [{ a: 'x' }])).close()
    const store = await reopen([field('a', 'string')])
    await store.create(creation('new', { a: 'x' }))
  })

  it('keeps an index that another opening asked for', async () => {
    await (await folder.open({ indexFields: new Map([['things', ['department']]]) })).store.close()
    await folder.open()
    const indexes = folder.raw().prepare("select name from pragma_index_list('objects_things')").all()
    expect(indexes.map(({ name }) => name)).to.include('objects_things f_department ordered')
  })

  it('counts the elements of a list that is from before its field was a scalar', async () => {
    await (await reopen([field('a', 'string', { list: true })], [{ a: ['x', 'y'] }, { a: 'x' }, {}])).close()
    const store = await reopen([field('a', 'string', { indexed: true })])
    expect(await listed(store, holds('a', 'x'))).to.deep.equal(['t0', 't1'])
    expect(await listed(store, { kind: 'not', of: holds('a', 'y') })).to.deep.equal(['t1', 't2'])
  })

  it('keeps the objects of a resource that is gone for now', async () => {
    await (await reopen([field('a', 'string')], [{ a: 'x' }])).close()
    await (await folder.open({ resources: resourcesOf() })).store.close()
    expect(await listed(await reopen([field('a', 'string')]), { kind: 'always' })).to.deep.equal(['t0'])
  })

  it('takes field names that differ by a capital, or look like columns of its own, for different', async () => {
    const names = ['a', 'A', '^A', '~41~', 'version', 'document', 'f_a', 'a.b', 'a as b', '', 'é', '😀', 'a"b', "a'b"]
    const fields = names.map((name) => field(name, 'string', { indexed: true }))
    const store = await reopen(
      fields,
      names.map((name) => ({ [name]: 'x' })),
    )
    for (const [index, name] of names.entries())
      expect(await listed(store, holds(name, 'x'))).to.deep.equal([`t${index}`])
  })

  it('takes no unique field that holds lists or objects', async () => {
    for (const unique of [field('a', 'string', { list: true, unique: true }), field('a', 'other', { unique: true })]) {
      expect(String(await failure(reopen([unique])))).to.contain("`a` of `things` can't be unique")
    }
  })
})
