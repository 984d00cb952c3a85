/** Migration files: what is read, and where a fault is reported. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { FileError } from '../../src/base/diagnostic.ts'
import { readMigrations } from '../../src/migrations/file/read-migrations.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { failure } from '../store/fixture.ts'

const RENAME = 'resources:\n  orders:\n    - rename: { from: note, to: remark }\n'

describe('the folder of migrations', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-migrations-'))
  })
  afterEach(() => removeFolder(folder))
  const write = (name: string, text: string | Buffer) => writeFile(join(folder, name), text)

  it('gives its migrations in the order of their numbers', async () => {
    await write('0010-later.yaml', RENAME)
    await write('0002-first.yaml', `description: x\n${RENAME}`)
    await write('README.md', 'not a migration')
    const read = await readMigrations(folder)
    expect(read.map(({ number, name }) => [number, name])).to.deep.equal([
      [2, '0002-first'],
      [10, '0010-later'],
    ])
    expect(read[0]?.steps.get('orders')).to.deep.equal([{ rename: { from: 'note', to: 'remark' } }])
  })

  it('that does not exist has none', async () => {
    expect(await readMigrations(join(folder, 'nothing'))).to.deep.equal([])
  })

  it('has the same digest with other comments, spaces and line ends, and another with other steps', async () => {
    await write('0001-a.yaml', RENAME)
    await write('0002-b.yaml', `# a comment\n${RENAME.replaceAll('\n', '\r\n')}`)
    await write('0003-c.yaml', RENAME.replace('remark', 'text'))
    const [a, b, c] = (await readMigrations(folder)).map(({ digest }) => digest)
    expect(b).to.equal(a)
    expect(c).not.to.equal(a)
  })

  const faulty: readonly (readonly [string, string, string | Buffer, RegExp])[] = [
    [
      'an unknown step',
      '0001-a.yaml',
      'resources:\n  orders:\n    - rname: { from: a, to: b }\n',
      /:3:7: .*`rname` is not known here/,
    ],
    [
      'two steps in one',
      '0001-a.yaml',
      'resources:\n  orders:\n    - { drop: [a], list: [b] }\n',
      /:3:7: .*yaml-shape/,
    ],
    [
      "a field of the server's",
      '0001-a.yaml',
      'resources:\n  orders:\n    - drop: [createdAt]\n',
      /:3:14: `createdAt` is a reserved name/,
    ],
    ['no resources', '0001-a.yaml', 'description: x\n', /`resources` is missing/],
    ['an empty file', '0001-a.yaml', '', /`resources` is missing/],
    ['a repeated key', '0001-a.yaml', `${RENAME}  orders: []\n`, /:4:3: a key is repeated/],
    [
      'a map without values',
      '0001-a.yaml',
      'resources:\n  orders:\n    - map: { field: a, values: [] }\n',
      /:3:24: `values`/,
    ],
    ['a name without a number', 'first.yaml', RENAME, /first\.yaml:1:1: .*\[migration-name\]/],
    ['the ending yml', '0001-a.yml', RENAME, /\[migration-name\]/],
    ['bytes that are no text', '0001-a.yaml', Buffer.from([0xff, 0xfe]), /\[migration-unreadable\]/],
  ]
  for (const [what, name, text, message] of faulty) {
    it(`is refused with the place of the fault: ${what}`, async () => {
      await write(name, text)
      const error = await failure(readMigrations(folder))
      expect(error).to.be.instanceOf(FileError)
      expect((error as Error).message).to.match(message)
    })
  }

  it('is refused if two files have one number', async () => {
    await write('0001-a.yaml', RENAME)
    await write('0001-b.yaml', RENAME)
    expect(((await failure(readMigrations(folder))) as Error).message).to.match(
      /0001-b\.yaml:1:1: `0001-a.yaml` has the same/,
    )
  })

  it('has a JSON Schema that describes every step to editors', async () => {
    const schema = JSON.parse(
      await readFile(new URL('../../src/migrations/file/schemas/migration.schema.json', import.meta.url), 'utf8'),
    )
    const steps = Object.entries<{ description?: string }>(schema.$defs.step.properties)
    expect(steps.map(([name]) => name).sort()).to.deep.equal(
      ['copy', 'default', 'delete', 'drop', 'list', 'map', 'rename', 'single'].sort(),
    )
    expect(steps.filter(([, { description }]) => !description)).to.deep.equal([])
  })
})
