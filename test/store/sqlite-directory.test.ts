/** The directory in files that other versions of the program, or other programs, have written to. */
import { expect } from 'chai'
import { UnfitDatabase } from '../../src/store/errors.ts'
import { openSqliteBeside } from '../../src/store/sqlite/open.ts'
import { failure, field, resource, resourcesOf } from './fixture.ts'
import { Folder } from './folder.ts'

const RESOURCES = resourcesOf(resource('users', [field('roles', 'string', { list: true })]))
const LATER = 4_000_000_000_000

describe('the directory in a database file', () => {
  const folder = Folder.ofEach()

  it('is added to a file of before, whose users are people from then on', async () => {
    const before = await folder.open({ resources: RESOURCES })
    await before.seeding.insert('users', [{ id: 'alice', document: { roles: ['member'] } }])
    await before.store.close()
    folder.raw().exec(`drop trigger "users deleted"; drop trigger "users inserted"; drop table accounts;
      drop table sessions; drop table api_keys; pragma user_version = 1`)
    const { directory } = await folder.open({ resources: RESOURCES })
    expect(await directory.people()).to.have.length(1)
    folder.raw().exec("delete from objects_users where id = 'alice'")
    expect((await directory.accountStatus('alice')).deleted).to.equal(true)
    expect(folder.raw().prepare('pragma user_version').get()?.user_version).to.equal(3)
  })

  it('knows of a users record that any other program deletes', async () => {
    const { directory, seeding } = await folder.open({ resources: RESOURCES })
    await seeding.insert('users', [{ id: 'alice', document: {} }])
    await directory.addKey({
      id: 'k',
      secretHash: '',
      subject: 'alice',
      roles: [],
      name: '',
      createdAt: 0,
      expiresAt: LATER,
    })
    expect((await directory.keyStatus('k'))?.key.revokedAt).to.equal(null)
    folder.raw().exec('delete from objects_users')
    expect((await directory.keyStatus('k'))?.key.revokedAt).to.be.closeTo(Date.now(), 60_000)
  })

  it('is worked on beside a server without a change to any table, and not before a server made it fit', async () => {
    const beside = () => openSqliteBeside({ file: folder.file, resources: RESOURCES, now: () => new Date() })
    expect(await failure(beside())).to.be.instanceOf(UnfitDatabase)
    expect(folder.raw().prepare('select count(*) as count from sqlite_schema').get()?.count).to.equal(0)
    const server = await folder.open({
      resources: resourcesOf(resource('users', [field('email', 'string', { unique: true })])),
    })
    const layout = () => JSON.stringify(folder.raw().prepare('select * from sqlite_schema order by name').all())
    const before = layout()
    const { store, directory, seeding } = await beside()
    await seeding.insert('users', [{ id: 'alice', document: { roles: ['member'] } }])
    await directory.disable('alice')
    await store.close()
    expect(layout()).to.equal(before)
    expect((await server.directory.accountStatus('alice')).disabled).to.equal(true)
    const other = resourcesOf(resource('users', [field('nick', 'string', { unique: true })]))
    const misfit = openSqliteBeside({ file: folder.file, resources: other, now: () => new Date() })
    expect(await failure(misfit))
      .to.have.property('message')
      .that.contains('start the server once')
  })

  it('is read while another process writes', async () => {
    await folder.open({ resources: RESOURCES })
    folder.raw().exec('begin immediate')
    const opened = await openSqliteBeside({ file: folder.file, resources: RESOURCES, now: () => new Date() })
    expect(await opened.directory.keys()).to.deep.equal([])
    await opened.store.close()
  })

  it('loses the sessions that are over when a server opens it', async () => {
    const times = { createdAt: 0, endsAt: LATER, idleEndsAt: 1 }
    const { directory, seeding, store } = await folder.open({ resources: RESOURCES })
    await seeding.insert('users', [{ id: 'alice', document: {} }])
    await directory.setPassword('alice', { hash: 'h', oneTime: false })
    const refresh = { family: '', current: '' }
    await directory.openSession({ id: 'open', userId: 'alice', ...times, idleEndsAt: LATER, refresh }, { hash: 'h' })
    await directory.openSession({ id: 'over', userId: 'alice', ...times, refresh }, { hash: 'h' })
    folder
      .raw()
      .exec("insert into sessions select 'over too', user_id, 0, 1, 1, '', '' from sessions where id = 'open'")
    await store.close()
    await folder.open({ resources: RESOURCES })
    expect(folder.raw().prepare('select id from sessions').all()).to.have.length(1)
  })

  it('works where no schema declares people', async () => {
    const { directory } = await folder.open()
    await directory.disable('somebody')
    await directory.addKey({
      id: 'k',
      secretHash: '',
      subject: 'robot',
      roles: ['member'],
      name: '',
      createdAt: 0,
      expiresAt: LATER,
    })
    expect(await directory.accountStatus('somebody')).to.deep.equal({
      roles: undefined,
      disabled: true,
      deleted: false,
    })
    expect((await directory.keyStatus('k'))?.roles).to.equal(undefined)
    expect(await directory.people()).to.deep.equal([])
    expect(await directory.person('somebody')).to.equal(undefined)
    expect(await directory.personByEmail('a@example.com')).to.equal(undefined)
    expect(await directory.setPassword('somebody', { hash: 'h', oneTime: false })).to.equal(false)
  })

  it('takes roles for none that are no list of texts', async () => {
    const { directory, seeding } = await folder.open({ resources: RESOURCES })
    const documents = {
      text: 'admin',
      object: { admin: true },
      number: 1,
      nothing: null,
      mixed: ['member', 1, null, ['admin']],
    }
    await seeding.insert(
      'users',
      Object.entries(documents).map(([id, roles]) => ({ id, document: { roles } })),
    )
    for (const id of ['text', 'object', 'number', 'nothing'])
      expect((await directory.accountStatus(id)).roles).to.deep.equal([])
    expect((await directory.accountStatus('mixed')).roles).to.deep.equal(['member'])
  })

  it('finds nobody by text that is not well-formed', async () => {
    const { directory, seeding } = await folder.open({ resources: RESOURCES })
    await seeding.insert('users', [{ id: '\ufffd', document: { email: '\ufffd' } }])
    expect(await directory.person('\ud800')).to.equal(undefined)
    expect(await directory.personByEmail('\ud800')).to.equal(undefined)
    expect(() => directory.accountStatus('\ud800')).to.throw('not available')
    expect(() => directory.sessionStatus('a', '\ud800')).to.throw('not available')
    expect(await directory.endSession('\ud800')).to.equal(false)
  })
})
