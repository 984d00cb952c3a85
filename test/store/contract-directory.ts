/** The contract of the directory: accounts beside the users records, sessions, API keys, and where a caller stands. */
import { expect } from 'chai'
import type { Directory, NewApiKey, NewSession } from '../../src/store/directory.ts'
import type { Clock, TestDatabase } from './engine.ts'
import { change, failure, field, type Opened, removal, resource, resourcesOf, UNFIT_RECORD } from './fixture.ts'

const USERS = resource('users', [
  field('email', 'string', { unique: true, indexed: true }),
  field('displayName', 'string'),
  field('roles', 'string', { list: true }),
])

const REFRESH = { family: 'family', current: 'first' }
const HOUR = 3_600_000
/** The clock of these tests stands at the new year. */
const NOW = Date.parse('2026-01-01T00:00:00.000Z')

const session = (id: string, userId = 'alice', more: Partial<NewSession> = {}): NewSession => ({
  id,
  userId,
  createdAt: NOW,
  endsAt: NOW + 24 * HOUR,
  idleEndsAt: NOW + HOUR,
  refresh: REFRESH,
  ...more,
})

const key = (id: string, subject = 'alice', more: Partial<NewApiKey> = {}): NewApiKey => ({
  id,
  secretHash: `hash of ${id}`,
  subject,
  roles: ['member', 'admin'],
  name: 'a robot',
  createdAt: NOW,
  expiresAt: NOW + HOUR,
  ...more,
})

export function describeDirectory(database: () => TestDatabase, clock: () => Clock): void {
  let opened: Opened
  let directory: Directory
  const open = () => database().open({ resources: resourcesOf(USERS), now: clock().now })
  const signIn = (id: string) => directory.openSession(session(id), { hash: 'h1' })

  describe('directory', () => {
    beforeEach(async () => {
      opened = await open()
      directory = opened.directory
      await opened.seeding.insert('users', [
        { id: 'alice', document: { email: 'alice@example.com', displayName: 'Alice', roles: ['member'] } },
        { id: 'bob', document: { email: 'bob@example.com', displayName: 'Bob' } },
      ])
      await directory.setPassword('alice', { hash: 'h1', oneTime: false })
    })

    describePeople()
    describeSessions()
    describeKeys()
    describeTakingAway()
  })

  function describePeople(): void {
    it('joins a users record with its account', async () => {
      const account = { passwordHash: 'h1', oneTime: false, disabled: false, changedAt: NOW }
      const alice = { id: 'alice', email: 'alice@example.com', name: 'Alice', roles: ['member'], account }
      const bob = { id: 'bob', email: 'bob@example.com', name: 'Bob', roles: [], account: undefined }
      expect(await directory.person('alice')).to.deep.equal(alice)
      expect(await directory.personByEmail('bob@example.com')).to.deep.equal(bob)
      expect(await directory.people()).to.deep.equal([alice, bob])
      for (const email of ['', 'BOB@example.com', 'bob', '\ud800']) {
        expect(await directory.personByEmail(email)).to.equal(undefined)
      }
    })

    it('adds a first user once, with the password', async () => {
      const user = { id: 'root', document: { email: 'root@example.com', displayName: 'Root' } }
      expect(await directory.addFirst(user, { hash: 'h', oneTime: true })).to.equal(false)
      expect(await directory.person('root')).to.equal(undefined)
      for (const [id, version] of [
        ['alice', 1],
        ['bob', 1],
      ] as const) {
        await opened.store.delete(removal(id, version, 'users'))
      }
      expect(await directory.addFirst(user, { hash: 'h', oneTime: true })).to.equal(true)
      expect((await directory.person('root'))?.account).to.include({ passwordHash: 'h', oneTime: true })
      await opened.store.delete(removal('root', 1, 'users'))
      expect(await directory.addFirst(user, { hash: 'h', oneTime: true })).to.equal(false)
    })

    it('sets no password without a users record', async () => {
      expect(await directory.setPassword('nobody', { hash: 'h', oneTime: false })).to.equal(false)
      expect(await directory.person('nobody')).to.equal(undefined)
    })

    it('takes a better hash only in place of the stored one', async () => {
      expect(await directory.rehash('alice', 'h0', 'h2')).to.equal(false)
      expect(await directory.rehash('alice', 'h1', 'h2')).to.equal(true)
      expect((await directory.person('alice'))?.account?.passwordHash).to.equal('h2')
    })
  }

  function describeSessions(): void {
    it('opens a session with the password that is the stored one', async () => {
      expect(await signIn('s1')).to.equal(true)
      expect(await directory.sessionStatus('alice', 's1')).to.deep.equal({
        roles: ['member'],
        disabled: false,
        deleted: false,
        sessionEndsAt: NOW + HOUR,
      })
      expect((await directory.sessionStatus('bob', 's1')).sessionEndsAt).to.equal(0)
    })

    it('opens none with a password that was changed after it was verified', async () => {
      await directory.setPassword('alice', { hash: 'h2', oneTime: false })
      expect(await signIn('s1')).to.equal(false)
      expect(await directory.openSession(session('s2', 'bob'), { hash: 'h1' })).to.equal(false)
      expect(await directory.openSession(session('s3', 'nobody'), { hash: 'h1' })).to.equal(false)
    })

    it('spends a one-time password with the first session', async () => {
      await directory.setPassword('alice', { hash: 'h1', oneTime: true })
      expect(await signIn('s1')).to.equal(true)
      expect(await signIn('s2')).to.equal(false)
      expect((await directory.person('alice'))?.account?.passwordHash).to.equal(null)
    })

    it('a session that is opened with a new password ends the others', async () => {
      await signIn('s1')
      expect(await directory.openSession(session('s2'), { hash: 'h1', next: 'h2' })).to.equal(true)
      expect((await directory.sessionStatus('alice', 's1')).sessionEndsAt).to.equal(0)
      expect((await directory.sessionStatus('alice', 's2')).sessionEndsAt).to.equal(NOW + HOUR)
      expect((await directory.person('alice'))?.account?.passwordHash).to.equal('h2')
    })

    it('refreshes with the current secret once; an older one ends the session', async () => {
      await signIn('s1')
      const refresh = { session: 's1', presented: REFRESH, next: 'second', idleEndsAt: NOW + 2 * HOUR }
      expect((await directory.refreshSession(refresh)).kind).to.equal('refreshed')
      expect((await directory.sessionStatus('alice', 's1')).sessionEndsAt).to.equal(NOW + 2 * HOUR)
      expect(await directory.refreshSession(refresh)).to.deep.equal({ kind: 'reused', userId: 'alice' })
      const newest = { ...refresh, presented: { ...REFRESH, current: 'second' } }
      expect(await directory.refreshSession(newest)).to.deep.equal({ kind: 'unknown' })
      expect((await directory.sessionStatus('alice', 's1')).sessionEndsAt).to.equal(0)
    })

    it('what was never a refresh token of the session ends nothing', async () => {
      await signIn('s1')
      const foreign = { family: 'other', current: 'first' }
      const refresh = { session: 's1', presented: foreign, next: 'second', idleEndsAt: NOW + HOUR }
      expect(await directory.refreshSession(refresh)).to.deep.equal({ kind: 'unknown' })
      expect(await directory.refreshSession({ ...refresh, session: 's2' })).to.deep.equal({ kind: 'unknown' })
      expect((await directory.refreshSession({ ...refresh, presented: REFRESH })).kind).to.equal('refreshed')
    })

    it('refreshes no session that is over or idle for too long', async () => {
      await signIn('s1')
      clock().time = new Date(NOW + HOUR).toISOString()
      const refresh = { session: 's1', presented: REFRESH, next: 'second', idleEndsAt: NOW + 2 * HOUR }
      expect(await directory.refreshSession(refresh)).to.deep.equal({ kind: 'unknown' })
    })

    it('keeps the record of what changes a session, with the change, and none of what changes nothing', async () => {
      const told = { refreshed: 'refreshed', reused: 'reused' }
      const refresh = { session: 's1', presented: REFRESH, next: 'second', idleEndsAt: NOW + 2 * HOUR }
      await directory.openSession(session('s1'), { hash: 'wrong' }, 'refused')
      await directory.refreshSession(refresh, told)
      await directory.endSession('s1', 'not ended')
      await directory.openSession(session('s1'), { hash: 'h1' }, 'opened')
      await directory.refreshSession(refresh, told)
      await directory.refreshSession(refresh, told)
      await directory.openSession(session('s2'), { hash: 'h1' }, 'opened')
      await directory.endSession('s2', 'ended')
      const records = (await opened.outbox.waiting(10)).map((one) => one.record)
      expect(records).to.deep.equal(['opened', 'refreshed', 'reused', 'opened', 'ended'])
    })

    it('changes no session whose record can not be kept', async () => {
      const refresh = { session: 's1', presented: REFRESH, next: 'second', idleEndsAt: NOW + 2 * HOUR }
      expect(await failure(directory.openSession(session('s1'), { hash: 'h1' }, UNFIT_RECORD))).to.be.an('error')
      expect((await directory.sessionStatus('alice', 's1')).sessionEndsAt).to.equal(0)
      await signIn('s1')
      expect(
        await failure(directory.refreshSession(refresh, { refreshed: UNFIT_RECORD, reused: UNFIT_RECORD })),
      ).to.be.an('error')
      expect(await failure(directory.endSession('s1', UNFIT_RECORD))).to.be.an('error')
      expect((await directory.refreshSession(refresh)).kind).to.equal('refreshed')
    })

    it('tells whose a session is, until it ends', async () => {
      expect(await directory.userOfSession('s1')).to.equal(undefined)
      await signIn('s1')
      expect(await directory.userOfSession('s1')).to.equal('alice')
      await directory.endSession('s1')
      expect(await directory.userOfSession('s1')).to.equal(undefined)
    })

    it('ends a session once', async () => {
      await signIn('s1')
      expect(await directory.endSession('s1')).to.equal(true)
      expect(await directory.endSession('s1')).to.equal(false)
      expect((await directory.sessionStatus('alice', 's1')).sessionEndsAt).to.equal(0)
    })
  }

  function describeKeys(): void {
    it('keeps keys, and when they were last used and revoked', async () => {
      await directory.addKey(key('k2', 'robot', { createdAt: NOW + 1 }))
      await directory.addKey(key('k1'))
      expect(await failure(directory.addKey(key('k1')))).to.be.an('error')
      await directory.noteKeyUses(
        new Map([
          ['k1', NOW + 5],
          ['gone', NOW],
        ]),
      )
      await directory.noteKeyUses(new Map([['k1', NOW + 3]]))
      expect(await directory.revokeKey('k2')).to.equal(true)
      expect(await directory.revokeKey('k3')).to.equal(false)
      expect(await directory.keys()).to.deep.equal([
        { ...key('k1'), revokedAt: null, lastUsedAt: NOW + 5 },
        { ...key('k2', 'robot', { createdAt: NOW + 1 }), revokedAt: NOW, lastUsedAt: null },
      ])
      clock().time = new Date(NOW + 1000).toISOString()
      await directory.revokeKey('k2')
      expect((await directory.keyStatus('k2'))?.key.revokedAt).to.equal(NOW)
    })

    it('tells where the subject of a key stands', async () => {
      await directory.addKey(key('k1'))
      await directory.addKey(key('k2', 'robot'))
      expect((await directory.keyStatus('k1'))?.roles).to.deep.equal(['member'])
      expect((await directory.keyStatus('k2'))?.roles).to.equal(undefined)
      expect(await directory.keyStatus('k3')).to.equal(undefined)
    })
  }

  function describeTakingAway(): void {
    it('tells the roles of the users record as they are now', async () => {
      await opened.store.update(change('alice', 1, { email: 'alice@example.com', roles: ['admin'] }, 'users'))
      expect((await directory.accountStatus('alice')).roles).to.deep.equal(['admin'])
      expect((await directory.accountStatus('bob')).roles).to.deep.equal([])
      expect((await directory.accountStatus('nobody')).roles).to.equal(undefined)
    })

    it('tells again what was so before a write that came to nothing', async () => {
      expect((await directory.accountStatus('alice')).roles).to.deep.equal(['member'])
      const undone = opened.store.update(change('alice', 1, { roles: ['admin'] }, 'users'), { record: UNFIT_RECORD })
      expect(await failure(undone)).to.be.an('error')
      expect((await directory.accountStatus('alice')).roles).to.deep.equal(['member'])
    })

    it('disabling ends the sessions for good, also of who has no users record', async () => {
      await signIn('s1')
      await directory.disable('alice')
      await directory.disable('elsewhere')
      expect((await directory.accountStatus('alice')).disabled).to.equal(true)
      expect((await directory.accountStatus('elsewhere')).disabled).to.equal(true)
      expect(await signIn('s2')).to.equal(false)
      await directory.enable('alice')
      expect((await directory.accountStatus('alice')).disabled).to.equal(false)
      expect((await directory.sessionStatus('alice', 's1')).sessionEndsAt).to.equal(0)
      expect(await signIn('s2')).to.equal(true)
    })

    it('a deleted users record takes password, sessions and keys along, and does not give them back', async () => {
      await signIn('s1')
      await directory.addKey(key('k1'))
      await opened.store.delete(removal('alice', 1, 'users'))
      const { deleted, roles, sessionEndsAt } = await directory.sessionStatus('alice', 's1')
      expect({ deleted, roles, sessionEndsAt }).to.deep.equal({ deleted: true, roles: undefined, sessionEndsAt: 0 })
      expect((await directory.keyStatus('k1'))?.key.revokedAt).to.be.a('number')
      await opened.seeding.insert('users', [{ id: 'alice', document: { email: 'alice@example.com' } }])
      expect((await directory.accountStatus('alice')).deleted).to.equal(false)
      expect((await directory.person('alice'))?.account?.passwordHash).to.equal(null)
      expect(await signIn('s2')).to.equal(false)
      expect((await directory.keyStatus('k1'))?.key.revokedAt).to.be.a('number')
    })

    it('a new users record of a disabled subject stays disabled', async () => {
      await directory.disable('carol')
      await opened.seeding.insert('users', [{ id: 'carol', document: { email: 'carol@example.com' } }])
      expect((await directory.accountStatus('carol')).disabled).to.equal(true)
    })
  }
}
