/** The package as it is packed: what is in it, and that it serves. package.soak.ts installs it, and follows the pages. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { inOrderOfPaths, packAll } from '../../scripts/pack.ts'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { ranIn } from './projects.ts'
import { bytesOf, MOST_PACKED, MOST_UNPACKED, strayNames } from './tarballs.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const NODE_24 = join(ROOT, 'node_modules/node24/bin/node')

describe('the packed package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-packed-'))
  let tarball = ''
  let server: ChildProcess | undefined

  before(async () => {
    const [packed] = await packAll(folder, { GITHUB_REPOSITORY: 'example/sallyport' })
    tarball = packed?.tarball ?? ''
    // What npm would install beside it.
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  })
  after(async () => {
    await endNow(server)
    await removeFolder(folder)
  })

  it('has no sources and no tests, and is small', async () => {
    expect(strayNames(await readdir(join(folder, 'package'), { recursive: true }))).to.deep.equal([])
    expect(await readdir(join(folder, 'package/dist/console'))).to.include.members(['index.html.br', 'pages.json'])
    expect((await stat(tarball)).size).to.be.below(MOST_PACKED)
    expect(await bytesOf(join(folder, 'package'))).to.be.below(MOST_UNPACKED)
  })

  it('has the same files in the order of their paths as npm packed, and nothing else is put in order', async () => {
    const unpacked = join(folder, 'unpacked')
    await mkdir(unpacked)
    execFileSync('tar', ['-xzf', tarball, '-C', unpacked])
    expect(await filesIn(join(unpacked, 'package'))).to.deep.equal(await filesIn(join(folder, 'package')))
    const names = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n')
    expect(names).to.deep.equal(names.toSorted())
    await symlink('package.json', join(unpacked, 'package/link'))
    const other = execFileSync('tar', ['-cz', '-C', unpacked, 'package/link'])
    expect(() => inOrderOfPaths(other)).to.throw('package/link is no plain file')
  })

  it('has packages beside it of the same version, all ready to be published from a workflow', async () => {
    const read = async (path: string) => JSON.parse(await readFile(path, 'utf8'))
    const manifests = await Promise.all(
      ['package', 'create-sallyport', 'client'].map((name) => read(join(folder, name, 'package.json'))),
    )
    const { version } = await read(join(ROOT, 'package.json'))
    expect(manifests.map(({ name }) => name)).to.deep.equal(['sallyport', 'create-sallyport', '@sallyport/client'])
    for (const manifest of manifests) {
      expect(manifest).to.include({ version, license: 'Apache-2.0', type: 'module' })
      expect(manifest).to.include.keys('description', 'engines')
      expect(manifest.publishConfig).to.deep.equal({ access: 'public', provenance: true })
      expect(manifest).to.not.have.any.keys('scripts', 'devDependencies', 'workspaces', 'private', 'files')
      expect(manifest.repository).to.include({ url: 'git+https://github.com/example/sallyport.git' })
    }
    expect(manifests[1].dependencies).to.deep.equal({ sallyport: version })
    expect(manifests[2].sideEffects).to.equal(false)
  })

  it('serves the demo in an empty folder, on Node 24, and ejects it, with what is in the package alone', async () => {
    const place = join(folder, 'empty')
    await mkdir(place)
    const program = [join(folder, 'package/bin/sallyport.js')]
    server = spawn(NODE_24, [...program, 'serve', '--demo'], {
      cwd: place,
      env: { ...process.env, PORT: '0', ADMIN_PORT: '0' },
    })
    let said = ''
    for await (const chunk of server.stderr ?? []) {
      said += chunk
      if (said.includes('"listening"')) break
    }
    const { url } = JSON.parse(said.split('\n').find((line) => line.includes('"listening"')) ?? '{}')
    expect((await fetch(`${url}/users`)).status, said).to.equal(401)
    await endNow(server)
    expect((await ranIn(place, process.env, [NODE_24, ...program, 'eject'])).code).to.equal(0)
    expect(await readdir(join(place, 'policies'))).to.include('policy.csv')
    const { code, stdout } = await ranIn(place, process.env, [NODE_24, ...program, 'init', 'api', '--yes'])
    expect(code, stdout).to.equal(0)
    expect(await readFile(join(place, 'api/package.json'), 'utf8')).to.include('"sallyport"')
  })
})

/** The hash of each file by its path. */
async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder, { recursive: true })).toSorted()
  const files: [string, string][] = []
  for (const name of names) {
    if ((await stat(join(folder, name))).isFile())
      files.push([name, hash('sha256', await readFile(join(folder, name)))])
  }
  return new Map(files)
}
