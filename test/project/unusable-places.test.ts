/** A file or folder that can't be read or written: each command says so in words, at once, and writes nothing. */
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemReason } from '../../src/base/files/system-reason.ts'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer } from '../server.ts'
import { sumOf } from './projects.ts'

const WRITES = [
  'policy trim log --out',
  'matrix init --out',
  'matrix test --report',
  'data export --as admin --role admin --output',
  'data migrate --draft --from before --migrations',
  'policy history --copy',
  'backup',
  'backup key',
  'restore archive.tar',
  'eject',
  'init --yes',
] as const

const READS = [
  'policy check --directory',
  'policy usage',
  'policy usage log --keep',
  'policy replay',
  'policy explain --record',
  'policy diff policies',
  'policy apply',
  'decisions query',
  'access who GET /users --log',
  'data import --as admin --role admin',
  'matrix test',
  'data migrate --migrations',
  'restore',
] as const

/** As the system names them in its errors. */
const SYSTEM_NAME = /\b(?:E(?:NO|ACC|PERM|EXIST|ISDIR|ROFS|LOOP|NAME)[A-Z]*)\b/

describe('a place that can not be used', () => {
  let made: string
  let folder: string
  before(async () => {
    made = await mkdtemp(join(tmpdir(), 'sallyport-unusable-'))
    folder = join(made, 'project')
    await mkdir(folder)
    const initialized = await sallyport(['init', '--yes'], { cwd: folder })
    expect(initialized.code, initialized.stderr).to.equal(0)
    const [policies = '', schemas = '', data = ''] = ['policies', 'schemas', 'data'].map((name) => join(folder, name))
    const server = await startTestServer({
      uncheckedBecause: 'only commands ask',
      env: { POLICIES: policies, SCHEMAS: schemas, DATA_DIR: data },
    })
    await server.stop()
    await cp(join(folder, 'schemas'), join(folder, 'before'), { recursive: true })
    const schema = await readFile(join(folder, 'before/users.json'), 'utf8')
    const more = schema.replace('"properties": {', '"properties": { "former": { "type": "string" },')
    await writeFile(join(folder, 'before/users.json'), more)
    await writeFile(join(folder, 'log'), '')
    await writeFile(join(folder, 'file'), 'mine')
    await mkdir(join(folder, 'full'))
    await writeFile(join(folder, 'full/file'), 'mine')
    expect((await sallyport(['backup', 'archive.tar'], { cwd: folder })).code).to.equal(0)
  })
  after(() => removeFolder(made))

  const end = (command: string, place: string) =>
    sallyport([...command.split(' '), command.endsWith('--report') ? `json=${place}` : place], { cwd: folder })

  /** The database has files of its own while a command has it open. */
  const written = async () => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith('data'))
    return [names.sort(), await readFile(join(folder, 'file'), 'utf8'), await sumOf(join(folder, 'policies'))]
  }

  const nowhere = process.platform === 'linux' ? ['/proc/sallyport', '/proc/sallyport/below'] : []

  for (const command of WRITES) {
    it(`ends \`${command}\``, async () => {
      const before = await written()
      for (const place of ['file/below', 'x'.repeat(300), ...nowhere]) {
        const { code, stderr } = await end(command, place)
        expect(code, place).to.equal(2)
        expect(stderr)
          .to.match(/^sallyport: .+\n$/)
          .and.to.not.match(SYSTEM_NAME)
      }
      expect(await written()).to.deep.equal(before)
    })
  }

  for (const command of READS) {
    it(`ends \`${command}\``, async () => {
      for (const place of ['nowhere', 'file/below', 'full', ...nowhere]) {
        const { stdout, stderr } = await end(command, place)
        expect(stdout + stderr, place)
          .to.not.match(SYSTEM_NAME)
          .and.to.not.match(/^ +at /m)
      }
    })
  }

  it('has a reason in words, or at least its name', () => {
    expect(['ENOENT', 'EISDIR', 'ODD', undefined].map(systemReason)).to.deep.equal([
      'no such file or directory',
      'it is a folder',
      'ODD',
      'unknown error',
    ])
    // The negative control.
    expect("sallyport: x can't be written (ENOENT)").to.match(SYSTEM_NAME)
  })

  it('is named with its reason by all code that shows the name of an error in brackets', async () => {
    const bare = /\(\$\{(?:\w+\.)?code\}\)/
    expect(`it can not be read ($${'{code}'})`).to.match(bare)
    const found: string[] = []
    for (const file of globSync('src/**/*.ts', { cwd: ROOT }))
      if (bare.test(await readFile(join(ROOT, file), 'utf8'))) found.push(file)
    expect(found).to.deep.equal([])
  })
})
