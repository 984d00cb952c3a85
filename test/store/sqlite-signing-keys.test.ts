import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { SigningKeys } from '../../src/store/signing-keys.ts'
import { openSqliteSigningKeys } from '../../src/store/sqlite/instances.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { signingKeysContract, type TestKeyDatabase } from './contract-signing-keys.ts'
import { failure } from './fixture.ts'

signingKeysContract('SQLite', createFile)

interface TestFile extends TestKeyDatabase {
  readonly file: string
}

async function createFile(): Promise<TestFile> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sallyport-keys-'))
  const file = path.join(folder, 'data.sqlite')
  const opened: SigningKeys[] = []
  return {
    file,
    open: async () => {
      const keys = await openSqliteSigningKeys(file)
      opened.push(keys)
      return keys
    },
    remove: async () => {
      for (const keys of opened) await keys.close()
      await removeFolder(folder)
    },
  }
}

describe('signing keys in a SQLite file', () => {
  let database: TestFile
  beforeEach(async () => {
    database = await createFile()
  })
  afterEach(() => database.remove())

  it('answers with StoreUnavailable when the table is gone, and recovers when it is back', async () => {
    const keys = await database.open()
    await keys.add(1, 'one')
    const direct = new DatabaseSync(database.file)
    direct.exec('alter table signing_keys rename to away')
    expect(await failure(keys.read())).to.be.instanceOf(StoreUnavailable)
    direct.exec('alter table away rename to signing_keys')
    direct.close()
    expect((await keys.read()).keys).to.have.length(1)
  })

  it('opens no file in a folder that does not exist', async () => {
    expect(await failure(openSqliteSigningKeys(`${database.file}/no/file`))).to.be.instanceOf(StoreUnavailable)
  })
})
