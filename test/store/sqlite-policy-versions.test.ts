import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { PolicyVersions } from '../../src/store/policy-versions.ts'
import { openSqlitePolicyVersions } from '../../src/store/sqlite/instances.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { policyVersionsContract, type TestPolicyDatabase } from './contract-policy-versions.ts'
import { failure } from './fixture.ts'

policyVersionsContract('SQLite', createFile)

interface TestFile extends TestPolicyDatabase {
  readonly file: string
}

async function createFile(): Promise<TestFile> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sallyport-policies-'))
  const file = path.join(folder, 'data.sqlite')
  const opened: PolicyVersions[] = []
  return {
    file,
    open: async () => {
      const versions = await openSqlitePolicyVersions(file)
      opened.push(versions)
      return versions
    },
    sql: async (text) => {
      const direct = new DatabaseSync(file)
      direct.exec(text)
      direct.close()
    },
    remove: async () => {
      for (const versions of opened) await versions.close()
      await removeFolder(folder)
    },
  }
}

describe('published policies in a SQLite file', () => {
  let database: TestFile
  beforeEach(async () => {
    database = await createFile()
  })
  afterEach(() => database.remove())

  it('forgets instances that told nothing for a day', async () => {
    const versions = await database.open()
    await versions.note('gone', 'x')
    const day = 24 * 60 * 60 * 1000
    const direct = new DatabaseSync(database.file)
    direct.exec(`update policy_instances set at = at - ${day} - 1000`)
    direct.close()
    await versions.note('here', 'x')
    expect((await versions.instances()).map(({ name }) => name)).to.deep.equal(['here'])
  })

  it('repairs a stored file that somebody changed when it is published again', async () => {
    const versions = await database.open()
    const files = new Map([['a', 'text']])
    await versions.publish({ number: 1, signed: 'one', files })
    const direct = new DatabaseSync(database.file)
    direct.exec("update policy_files set content = 'other'")
    direct.close()
    expect(await versions.file('a')).to.equal('other')
    await versions.publish({ number: 2, signed: 'two', files })
    expect(await versions.file('a')).to.equal('text')
  })

  it('answers with StoreUnavailable when a table is gone, and recovers when it is back', async () => {
    const versions = await database.open()
    await versions.publish({ number: 1, signed: 'one', files: new Map() })
    const direct = new DatabaseSync(database.file)
    direct.exec('alter table policy_versions rename to away')
    expect(await failure(versions.latest())).to.be.instanceOf(StoreUnavailable)
    direct.exec('alter table away rename to policy_versions')
    direct.close()
    expect(await versions.latest()).to.equal(1)
  })

  it('opens no file in a folder that does not exist', async () => {
    expect(await failure(openSqlitePolicyVersions(`${database.file}/no/file`))).to.be.instanceOf(StoreUnavailable)
  })
})
