/** Account statuses and objects are kept while nothing changes; whoever changes what, and however it ends, they are those of a look-up. */
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import fc from 'fast-check'
import type { StoredObject } from '../../src/resources/object.ts'
import type { AccountStatus } from '../../src/store/directory.ts'
import { ParsedObjects } from '../../src/store/parse-stored.ts'
import { SqliteAccountStatuses } from '../../src/store/sqlite/account-statuses.ts'
import { SharedReads } from '../../src/store/sqlite/shared-reads.ts'
import { runs } from '../runs.ts'
import { change, failure, field, type Opened, removal, resource, resourcesOf, UNFIT_RECORD } from './fixture.ts'
import { Folder } from './folder.ts'

const RESOURCES = resourcesOf(resource('users', [field('roles', 'string', { list: true })]))
const PEOPLE = ['alice', 'bob']
const LATER = 4_000_000_000_000

type Step = readonly [who: 'first' | 'second', what: keyof typeof WRITES, userId: string]
type Raw = 'begin' | 'write' | 'rewrite' | 'commit' | 'rollback' | 'checkpoint'

const WRITES = {
  disable: ({ directory }: Opened, id: string) => directory.disable(id),
  enable: ({ directory }: Opened, id: string) => directory.enable(id),
  insert: ({ seeding }: Opened, id: string) => seeding.insert('users', [{ id, document: { roles: ['member'] } }]),
  promote: async ({ store }: Opened, id: string) => {
    const version = (await store.get('users', id))?.version ?? 0
    return store.update(change(id, version, { roles: [`role ${version}`] }, 'users'))
  },
  delete: async ({ store }: Opened, id: string) =>
    store.delete(removal(id, (await store.get('users', id))?.version ?? 0, 'users')),
  signIn: async ({ directory }: Opened, id: string) => {
    await directory.setPassword(id, { hash: 'h', oneTime: false })
    const times = { createdAt: 0, endsAt: LATER, idleEndsAt: LATER }
    await directory.openSession(
      { id: `session of ${id}`, userId: id, ...times, refresh: { family: '', current: '' } },
      { hash: 'h' },
    )
  },
  signOut: ({ directory }: Opened, id: string) => directory.endSession(`session of ${id}`),
  addKey: ({ directory }: Opened, id: string) =>
    directory.addKey({
      id: `key of ${id}`,
      secretHash: '',
      subject: id,
      roles: [],
      name: '',
      createdAt: 0,
      expiresAt: LATER,
    }),
  revokeKey: ({ directory }: Opened, id: string) => directory.revokeKey(`key of ${id}`),
} as const

const step: fc.Arbitrary<Step | Raw> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constantFrom('first', 'second'),
      fc.constantFrom(...(Object.keys(WRITES) as (keyof typeof WRITES)[])),
      fc.constantFrom(...PEOPLE),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<Raw>('begin', 'write', 'rewrite', 'commit', 'rollback', 'checkpoint') },
)
const steps = fc.array(step, { minLength: 5, maxLength: 30 })

describe('account statuses and objects that are kept', () => {
  let folder: Folder
  let instances: { readonly first: Opened; readonly second: Opened }
  let raw: DatabaseSync
  let reader: DatabaseSync
  const { state } = SharedReads.prototype
  const { of, unchanged } = ParsedObjects.prototype

  beforeEach(async () => {
    folder = await Folder.make()
    instances = {
      first: await folder.open({ resources: RESOURCES }),
      second: await folder.open({ resources: RESOURCES }),
    }
    raw = folder.raw()
    reader = folder.raw()
  })
  afterEach(async () => {
    SharedReads.prototype.state = state
    Object.assign(ParsedObjects.prototype, { of, unchanged })
    await folder.remove()
  })

  it('are those of a look-up, after any sequence of writes by anybody', async () => {
    await fc.assert(fc.asyncProperty(steps, agree), { numRuns: runs(60, 20) })
  })

  it('are those of a look-up when a thread writes', async () => {
    instances = { ...instances, first: await folder.open({ resources: RESOURCES, writer: 'thread' }) }
    await fc.assert(fc.asyncProperty(steps, agree), { numRuns: runs(15, 5) })
  })

  it('would be found out if they were kept for longer', async () => {
    SharedReads.prototype.state = () => 1
    expect((await fc.check(fc.asyncProperty(steps, agree), { numRuns: 60, endOnFailure: true })).failed).to.equal(true)
  })

  it('would be found out if only an object were kept for longer', async () => {
    ParsedObjects.prototype.of = function (resource, row) {
      return of.call(this, resource, row, 1)
    }
    ParsedObjects.prototype.unchanged = function (resource, id) {
      return unchanged.call(this, resource, id, 1)
    }
    expect((await fc.check(fc.asyncProperty(steps, agree), { numRuns: 60, endOnFailure: true })).failed).to.equal(true)
  })

  it('are the same object, unread, in one state, and read again by the next question after a change', async () => {
    const { store, seeding } = instances.first
    await seeding.insert('users', [{ id: 'alice', document: { roles: ['member'] } }])
    let reads = 0
    ParsedObjects.prototype.of = function (...given) {
      reads += 1
      return of.apply(this, given)
    }
    const read = () => store.inOneReadTransaction(() => store.get('users', 'alice')) as StoredObject
    const first = read()
    expect([read() === first, read() === first, reads]).to.deep.equal([true, true, 1])
    raw.exec('update objects_users set document = \'{"roles":[]}\'')
    expect([read().document, reads]).to.deep.equal([{ roles: [] }, 2])
    await instances.second.directory.disable('alice')
    const unchanged = read()
    expect([unchanged.document, read() === unchanged, reads]).to.deep.equal([{ roles: [] }, true, 3])
    await store.delete(removal('alice', 1, 'users'))
    expect(read()).to.equal(undefined)
  })

  it('are not kept from the middle of a write that comes to nothing', async () => {
    const { directory, seeding, store } = instances.first
    await seeding.insert('users', [{ id: 'alice', document: { roles: ['member'] } }])
    const seen: unknown[] = []
    const { exec } = DatabaseSync.prototype
    DatabaseSync.prototype.exec = function (sql) {
      if (sql.startsWith('rollback')) seen.push((directory.accountStatus('alice') as AccountStatus).roles)
      exec.call(this, sql)
    }
    const undone = store.update(change('alice', 1, { roles: ['admin'] }, 'users'), { record: UNFIT_RECORD })
    expect(await failure(undone).finally(() => Object.assign(DatabaseSync.prototype, { exec }))).to.be.an('error')
    expect(seen).to.deep.equal([['admin']])
    expect((await directory.accountStatus('alice')).roles).to.deep.equal(['member'])
  })

  async function agree(some: readonly (Step | Raw)[]): Promise<void> {
    for (const one of some) {
      await (typeof one === 'string' ? takeRaw(one) : take(one))
      for (const { directory, store } of Object.values(instances)) {
        compare(directory, store)
        store.inOneReadTransaction(() => compare(directory, store))
      }
    }
    if (raw.isTransaction) raw.exec('rollback')
  }

  async function take([who, what, userId]: Step): Promise<void> {
    // The one writer there can be is another one; what is refused for another reason changes nothing.
    if (!raw.isTransaction) await WRITES[what](instances[who], userId).catch(() => undefined)
  }

  /** A process that isn't one of ours, in the middle of its transaction. */
  function takeRaw(what: Raw): void {
    if (what === 'checkpoint' && !raw.isTransaction) raw.exec('pragma wal_checkpoint(passive)')
    else if (what === 'write') raw.exec("update accounts set disabled = 1 - disabled where user_id = 'alice'")
    else if (what === 'rewrite')
      raw.exec("update objects_users set document = json_set(document, '$.n', abs(random() % 1000))")
    else if (what === 'begin' && !raw.isTransaction) raw.exec('begin immediate')
    else if ((what === 'commit' || what === 'rollback') && raw.isTransaction) raw.exec(what)
  }

  function compare(directory: Opened['directory'], store: Opened['store']): void {
    // One that keeps nothing yet.
    const fresh = new SqliteAccountStatuses(reader, { name: '"objects_users"' }, new SharedReads(reader))
    const stored = reader.prepare('select document from objects_users where id = ?')
    for (const id of PEOPLE) {
      expect(directory.accountStatus(id)).to.deep.equal(fresh.accountStatus(id))
      expect(directory.sessionStatus(id, `session of ${id}`)).to.deep.equal(fresh.sessionStatus(id, `session of ${id}`))
      expect(directory.keyStatus(`key of ${id}`)).to.deep.equal(fresh.keyStatus(`key of ${id}`))
      const document = (store.get('users', id) as StoredObject | undefined)?.document
      expect(JSON.stringify(document)).to.equal(stored.get(id)?.document)
    }
  }
})
