import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import fc from 'fast-check'
import type { WritePlace } from '../../src/store/contract.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { runs } from '../runs.ts'
import { ALL } from './engine.ts'
import { change, creation, failure, type Opened, removal, UNFIT_RECORD } from './fixture.ts'
import { Folder } from './folder.ts'
import { statementsOf } from './statements.ts'

const WRITER = fileURLToPath(new URL('group-writer.ts', import.meta.url))

/** One write, as a group of random ones has it. Few ids and codes, so that they often get in each other's way. */
interface RandomWrite {
  readonly kind: 'create' | 'update' | 'delete'
  readonly id: string
  readonly version: number
  readonly code: string
  /** What commits with it: its record, also an idempotency key, nothing at all, or a record that can't be kept. */
  readonly alongside: 'record' | 'replay' | 'nothing' | 'fault'
}

const randomWrite: fc.Arbitrary<RandomWrite> = fc.record({
  kind: fc.constantFrom('create', 'create', 'update', 'delete'),
  id: fc.constantFrom('a', 'b', 'c', 'd'),
  version: fc.integer({ min: 1, max: 2 }),
  code: fc.constantFrom('x', 'y', 'z'),
  alongside: fc.constantFrom('record', 'record', 'replay', 'nothing', 'fault'),
})

function write({ store }: Opened, { kind, id, version, code, alongside }: RandomWrite, n: number): Promise<unknown> {
  const record = alongside === 'fault' ? UNFIT_RECORD : `${n}`
  const options = alongside === 'nothing' ? {} : { record }
  const replay = { subject: 's', route: '/things', key: code, fingerprint: `${n}` }
  if (kind === 'create')
    return store.create(creation(id, { code, extra: n }), { ...options, ...(alongside === 'replay' && { replay }) })
  if (kind === 'update') return store.update(change(id, version, { code, extra: n }), options)
  return store.delete(removal(id, version), options)
}

/** What was answered, and all that is there then. */
async function resultOf(writes: readonly RandomWrite[], how: 'together' | 'one by one') {
  const folder = await Folder.make()
  const opened = await folder.open({ now: () => new Date('2026-01-01T00:00:00.000Z') })
  const tell = (promise: Promise<unknown>) => promise.then((value) => JSON.stringify(value) ?? 'done', String)
  const answers: string[] = []
  if (how === 'together') answers.push(...(await Promise.all(writes.map((one, n) => tell(write(opened, one, n))))))
  else for (const [n, one] of writes.entries()) answers.push(await tell(write(opened, one, n)))
  const keys = folder.raw().prepare('select key, fingerprint from replays order by key').all()
  const listed = await opened.store.list('things', ALL)
  const objects = await Promise.all(listed.map(({ id }) => opened.store.get('things', id)))
  const there = { objects, records: await opened.outbox.waiting(100), keys }
  await folder.remove()
  return { answers, there }
}

/** The engine with another `exec`, while the work is done. */
async function withExec(exec: (sql: string, run: () => void) => void, work: () => Promise<void>): Promise<void> {
  const { exec: original } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    exec(sql, () => original.call(this, sql))
  }
  try {
    await work()
  } finally {
    DatabaseSync.prototype.exec = original
  }
}

/** The store's own connection. */
async function connectionOf(work: () => Promise<unknown>): Promise<DatabaseSync> {
  const { exec } = DatabaseSync.prototype
  const used: DatabaseSync[] = []
  DatabaseSync.prototype.exec = function (sql) {
    used.push(this)
    exec.call(this, sql)
  }
  await work().finally(() => Object.assign(DatabaseSync.prototype, { exec }))
  if (!used[0]) throw new Error('no connection was used')
  return used[0]
}

const commitsOf = (texts: readonly string[]) => texts.filter((text) => text === 'commit').length

describe('writes that wait together', () => {
  const folder = Folder.ofEach()
  let opened: Opened
  beforeEach(async () => {
    opened = await folder.open()
  })

  const create = (id: string, code = id) => opened.store.create(creation(id, { code }), { record: id })
  const ids = Array.from({ length: 64 }, (_, n) => `t${String(n).padStart(2, '0')}`)
  const stored = async () => (await opened.store.list('things', ALL)).map(({ id }) => id)
  const records = async () => (await opened.outbox.waiting(100)).map(({ record }) => record)

  it('are committed at once, and those that wait for one another one by one', async () => {
    expect(commitsOf(await statementsOf(() => Promise.all(ids.map((id) => create(id)))))).to.equal(1)
    expect(await stored()).to.deep.equal(ids)
    expect(await records()).to.deep.equal(ids)
    const inTurn = async () => {
      for (const id of ['a', 'b', 'c']) await create(id)
    }
    expect(commitsOf(await statementsOf(inTurn))).to.equal(3)
  })

  it('come to the same as one by one, whichever of them fail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(randomWrite, { minLength: 1, maxLength: 12 }), async (writes) => {
        expect(await resultOf(writes, 'together')).to.deep.equal(await resultOf(writes, 'one by one'))
      }),
      { numRuns: runs(30, 10) },
    )
  })

  it('would not if one that failed were not undone on its own', async () => {
    const writes: RandomWrite[] = ['record', 'fault'].map((alongside, n) => {
      return { kind: 'create', id: `${n}`, version: 1, code: `${n}`, alongside: alongside as RandomWrite['alongside'] }
    })
    const right = await resultOf(writes, 'one by one')
    expect(await resultOf(writes, 'together')).to.deep.equal(right)
    const lenient = (sql: string, run: () => void) => (sql.startsWith('rollback to') ? undefined : run())
    await withExec(lenient, async () => {
      expect(await resultOf(writes, 'together')).not.to.deep.equal(right)
    })
  })

  it('are seen by nobody before they are durable', async () => {
    const written = create('a')
    expect(await opened.store.get('things', 'a')).to.equal(undefined)
    expect(await stored()).to.deep.equal([])
    await written
    expect((await opened.store.get('things', 'a'))?.id).to.equal('a')
  })

  it('all fail, and leave nothing, when their commit fails; the next ones are written', async () => {
    const full = (sql: string, run: () => void) => {
      if (sql === 'commit') throw new Error('disk full')
      run()
    }
    await withExec(full, async () => {
      const errors = await Promise.all(['a', 'b', 'c'].map((id) => failure(create(id))))
      for (const error of errors) expect(error).to.be.instanceOf(StoreUnavailable)
    })
    expect(await stored()).to.deep.equal([])
    expect(await records()).to.deep.equal([])
    await create('d')
    expect(await records()).to.deep.equal(['d'])
  })

  it('all fail when one loses the transaction, and none is written outside of it', async () => {
    const database = await connectionOf(() => create('before'))
    let released = 0
    const losing = (sql: string, run: () => void) => {
      if (sql !== 'release one' || ++released !== 2) return run()
      database.exec('rollback')
      throw new Error('the engine gave up')
    }
    await withExec(losing, async () => {
      const errors = await Promise.all(['a', 'b', 'c'].map((id) => failure(create(id))))
      for (const error of errors) expect(error).to.be.instanceOf(StoreUnavailable)
    })
    expect(released).to.equal(2)
    expect(await stored()).to.deep.equal(['before'])
  })

  it('are committed by a close', async () => {
    const written = ['a', 'b'].map((id) => create(id))
    await opened.store.close()
    expect((await Promise.all(written)).map(({ id }) => id)).to.deep.equal(['a', 'b'])
    opened = await folder.open()
    expect(await stored()).to.deep.equal(['a', 'b'])
  })
})

for (const writer of ['here', 'thread'] as const) describeDying(writer)

function describeDying(writer: WritePlace): void {
  describe(`a process that writes groups ${writer === 'here' ? 'itself' : 'in a thread'}`, () => {
    /** Ends the writer, and gives what it acknowledged, and why it ended. */
    async function lifeOf(folder: Folder, how: { readonly killAfter?: number; readonly blocks?: number }) {
      const limit = how.blocks === undefined ? '' : `ulimit -f ${how.blocks}; `
      const child = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, WRITER, folder.file, writer])
      child.stderr.pipe(process.stderr)
      let text = ''
      child.stdout.on('data', (chunk) => {
        text += chunk
        if (how.killAfter !== undefined && text.split('\n').length > how.killAfter) child.kill('SIGKILL')
      })
      await once(child, 'close')
      const lines = text.split('\n').slice(0, -1)
      return {
        acknowledged: lines.filter((line) => !line.startsWith('failed')),
        failures: lines.filter((line) => line.startsWith('failed')),
      }
    }

    /** Each object has its record and each record its object, and what was acknowledged is there. */
    async function expectWhole(folder: Folder, acknowledged: readonly string[]): Promise<void> {
      const { store, outbox } = await folder.open()
      const objects = (await store.list('things', { ...ALL, limit: 100_000 })).map(({ id }) => id)
      const records = (await outbox.waiting(100_000)).map(({ record }) => record)
      expect(records.toSorted()).to.deep.equal(objects.toSorted())
      expect(acknowledged.filter((id) => !objects.includes(id))).to.deep.equal([])
      expect(objects.filter((id) => id.startsWith('refused'))).to.deep.equal([])
    }

    it('loses no write that it acknowledged, and leaves none by halves, when it is killed', async () => {
      for (const killAfter of [3, 20, 45]) {
        const folder = await Folder.make()
        const { acknowledged } = await lifeOf(folder, { killAfter })
        expect(acknowledged.length).to.be.at.least(killAfter)
        await expectWhole(folder, acknowledged)
        await folder.remove()
      }
    })

    it('acknowledges none of a group for which the disk has no room', async () => {
      const folder = await Folder.make()
      const { acknowledged, failures } = await lifeOf(folder, { blocks: 4000 })
      expect(acknowledged.length).to.be.above(10)
      expect(new Set(failures)).to.deep.equal(new Set(['failed StoreUnavailable']))
      expect(failures.length, 'all of the last group').to.equal(9)
      await expectWhole(folder, acknowledged)
      await folder.remove()
    })
  })
}
