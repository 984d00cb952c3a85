/** What a command reads stays inside the git work tree, and is a plain file of a bounded size. */
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, readlink, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { MOST_BYTES } from '../../src/base/files/project-file.ts'
import { readMigrations } from '../../src/migrations/file/read-migrations.ts'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { loadSchemas } from '../../src/resources/load/load-resources.ts'
import { readBodies, readMatrices } from '../../src/tools/matrix/read/read-matrices.ts'
import { readContent } from '../../src/tools/release/content.ts'
import { homeOf } from '../../src/tools/release/folder/layout.ts'
import { replaceAll } from '../../src/tools/release/folder/replace-all.ts'
import { exchangeFiles } from '../../src/tools/release/folder/swap-policy-files.ts'
import { removeFolder } from '../ends-with-tests.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('a file of a project', () => {
  let folder: string
  const at = (...names: readonly string[]) => join(folder, ...names)
  const told = (reading: Promise<unknown>) =>
    reading.then(
      () => 'read',
      (error: Error) => error.message,
    )

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-links-'))
    await mkdir(at('tree/migrations'), { recursive: true })
    await mkdir(at('tree/.git'))
    for (const name of ['policies', 'schemas']) await cp(join(ROOT, name), at('tree', name), { recursive: true })
    await writeFile(at('secret'), '{"password":"hidden-word"}')
  })
  afterEach(() => removeFolder(folder))

  /** Reads a policy, a schema, a matrix and a migration that are what `make` makes of their paths. */
  async function readEach(make: (path: string) => Promise<unknown>): Promise<readonly string[]> {
    const paths = ['policies/policy.csv', 'schemas/notes.json', 'matrix.csv', 'migrations/0001-one.yaml']
    for (const path of paths) {
      await rm(at('tree', path), { force: true })
      await make(at('tree', path))
    }
    return [
      await told(readPolicyFiles(at('tree/policies'))),
      await told(loadSchemas(at('tree/schemas'))),
      await told(readMatrices([at('tree/matrix.csv')])),
      await told(readMigrations(at('tree/migrations'))),
    ]
  }

  it('that is a link out of the git work tree is refused, and nothing of it is told', async () => {
    for (const target of [at('secret'), '/proc/self/environ']) {
      const said = await readEach((path) => symlink(target, path))
      for (const one of said) {
        expect(one)
          .to.match(/leads out of the git work tree|cannot be read/)
          .and.not.match(/hidden-word|PATH=/)
      }
    }
  })

  it('that is a link out of the git work tree is neither copied nor written by a command that changes a policy', async () => {
    await rm(at('tree/policies/views.yaml'))
    await symlink(at('secret'), at('tree/policies/views.yaml'))
    const copied = await told(readContent(at('tree/policies')))
    expect(copied).to.match(/leads out of the git work tree/)
    const written = await told(replaceAll(at('tree/policies'), [{ name: 'views.yaml', text: 'written: {}\n' }]))
    expect(written).to.match(/views\.yaml` is a link that leads out of the project/)
    await rm(at('tree/policies/views.yaml'))
    const content = await readContent(at('tree/policies'))
    await symlink(at('secret'), at('tree/policies/views.yaml'))
    const home = await homeOf(at('tree/policies'), at('data'))
    const applied = await told(exchangeFiles(home, new Map([...content, ['views.yaml', Buffer.from('written')]]), 'x'))
    expect(applied).to.match(/leads out of the git work tree/)
    expect(await readFile(at('secret'), 'utf8')).to.equal('{"password":"hidden-word"}')
  })

  it('that is a link inside of the work tree is written where it leads, and stays a link', async () => {
    await writeFile(at('tree/views.yaml'), 'before: {}\n')
    await rm(at('tree/policies/views.yaml'))
    await symlink('../views.yaml', at('tree/policies/views.yaml'))
    await replaceAll(at('tree/policies'), [{ name: 'views.yaml', text: 'written: {}\n' }])
    expect(await readFile(at('tree/views.yaml'), 'utf8')).to.equal('written: {}\n')
    expect(await readlink(at('tree/policies/views.yaml'))).to.equal('../views.yaml')
  })

  it('that is a link inside of the work tree, or in no work tree, is read', async () => {
    const elsewhere = join(ROOT, 'policies/policy.csv')
    await cp(elsewhere, at('tree/other.csv'))
    const inside = (path: string) => symlink(at('tree/other.csv'), path)
    expect((await readEach(inside))[0]).to.equal('read')
    await symlink(at('tree/policies'), at('tree/linked'))
    expect(await told(readPolicyFiles(at('tree/linked')))).to.equal('read')
    await removeFolder(at('tree/.git'))
    expect((await readEach((path) => symlink(elsewhere, path)))[0]).to.equal('read')
  })

  it('in a folder that the operator has linked from elsewhere is read', async () => {
    await cp(join(ROOT, 'policies'), at('shared'), { recursive: true })
    await symlink(at('shared'), at('tree/from-elsewhere'))
    expect(await told(readPolicyFiles(at('tree/from-elsewhere')))).to.equal('read')
  })

  it('that is a pipe, a device or too large is refused at once', async () => {
    for (const make of [
      async (path: string) => void execFileSync('mkfifo', [path]),
      (path: string) => symlink('/dev/zero', path),
      async (path: string) => {
        await writeFile(path, '')
        await truncate(path, MOST_BYTES + 1)
      },
    ]) {
      await removeFolder(at('tree/.git'))
      for (const one of await readEach(make)) expect(one).to.match(/not a regular file|larger than|cannot be read/)
    }
  })

  it('that a cell names outside of the work tree is no body', async () => {
    const place = { file: at('tree/matrix.csv'), line: 1, column: 1 }
    await writeFile(at('tree/body.json'), '{}')
    const bodies = await readBodies([
      { body: at('secret'), place },
      { body: at('tree/body.json'), place },
    ])
    expect(bodies.get(at('secret'))).to.deep.include({ kind: 'unusable' })
    expect(bodies.get(at('tree/body.json'))).to.deep.equal({ kind: 'json', json: {} })
  })
})
