/** `upgrade --check` says what a newer version changes for a project, takes nothing for equal unseen, and writes nothing. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import shape from '../../docs/schemas/upgrade-check.schema.json' with { type: 'json' }
import own from '../../package.json' with { type: 'json' }
import { askProgram } from '../../src/tools/project/upgrade/programs.ts'
import type { AnswerBounds, UpgradeReport } from '../../src/tools/project/upgrade/report.ts'
import { checkUpgrade } from '../../src/tools/project/upgrade/upgrade.ts'
import { SAME_PROGRAM, writeOldPackage } from './old-package.ts'
import { openWorkshop, sumOf, type Workshop } from './projects.ts'

const isShaped = new Ajv2020().compile(shape)

describe('upgrade --check', () => {
  let workshop: Workshop
  let at: (name: string) => string

  before(async () => {
    workshop = await openWorkshop()
    at = (name) => join(workshop.folder, name)
    const made = await workshop.sallyport('.', 'init', 'api', '--yes')
    expect(made.code, made.stderr).to.equal(0)
  })
  after(() => workshop.remove())

  const check = (folder: string, ...more: readonly string[]) =>
    workshop.sallyport('.', 'upgrade', '--check', folder, ...more)

  async function report(folder: string, from: string): Promise<UpgradeReport> {
    const { code, stdout, stderr } = await check(folder, '--from', from, '--format', 'json')
    expect(stderr).to.equal('')
    const told = JSON.parse(stdout)
    expect(isShaped(told), JSON.stringify(isShaped.errors)).to.equal(true)
    expect(isShaped({ ...told, other: 1 }), 'a member more').to.equal(false)
    expect(code).to.equal(told.todo ? 1 : 0)
    return told
  }

  it('finds nothing to do where the versions are alike, and writes nothing', async () => {
    await writeOldPackage(at('api/node_modules/sallyport'), { version: own.version })
    const before = await sumOf(at('api'))
    const { code, stdout, stderr } = await check('api')
    expect(code, stdout + stderr).to.equal(0)
    expect(stdout).to.match(/all files are right for the new version\n/)
    expect(stdout).to.match(/all [1-9]\d* cells of the access matrix are the same\n/)
    expect(stdout).to.match(/nothing to do: install the new version\n$/)
    expect(await sumOf(at('api'))).to.equal(before)
    await writeFile(at('api/one-more'), '')
    expect(await sumOf(at('api')), 'a new file would be noticed').to.not.equal(before)
    await rm(at('api/one-more'))
  })

  describe('of a version that differs in everything', () => {
    let told: UpgradeReport

    before(async () => {
      await cp(at('api'), at('other'), { recursive: true })
      await cp(at('api/policies'), at('former-policies'), { recursive: true })
      await edit('other/policies/policy.csv', (text) => {
        return text.replace(
          '# end of policy',
          'p, member, users, list, any, *, allow\np, membr, users, list, , *, allow\n$&',
        )
      })
      await edit('former-policies/policy.csv', (text) =>
        text.replace('# end of policy', 'p, member, users, list, any, *, allow\n$&'),
      )
      await edit('other/test/matrix/users.csv', (text) => `${text}what,is,this\n`)
      await mkdir(at('other/migrations'))
      await writeFile(at('other/migrations/wrong.yaml'), 'steps: []\n')
      await mkdir(at('other/data'))
      await writeFile(at('other/data/sallyport.db'), sqliteHeader(2))
      // Its checks find nothing, and it reads other policies.
      const program = `
        const at = process.argv.indexOf('--policies')
        if (at > 0) process.argv[at + 1] = ${JSON.stringify(at('former-policies'))}
        if (process.argv[3] === 'check') process.stdout.write('{"findings":[]}')
        else ${SAME_PROGRAM}`
      const old = await writeOldPackage(at('old'), { program })
      await edit('old/CHANGELOG.md', (text) => text.replaceAll('An upgrade must know:', 'Also:'))
      told = await report('other', old)
    })

    const edit = async (name: string, change: (text: string) => string) => {
      const text = await readFile(at(name), 'utf8')
      expect(change(text), name).to.not.equal(text)
      await writeFile(at(name), change(text))
    }

    it('names each fault of the files with its place, and whether the old version has it', () => {
      const found = told.findings.map(({ file, line, column, before }) => ({
        file: file.replace(workshop.folder, ''),
        line,
        column,
        before,
      }))
      const places = found.map(({ file, line, column, before }) => `${file}:${line > 0 && column > 0} ${before}`)
      expect(places).to.include.members([
        'other/policies/policy.csv:true not-found',
        'other/test/matrix/users.csv:true unknown',
        'other/migrations/wrong.yaml:true unknown',
      ])
    })

    it('says that decisions are undecided where the new version refuses the policy', () => {
      expect(told.decisions.compared).to.equal(0)
      expect(told.undecided.map(({ part }) => part)).to.include('decisions')
    })

    it('repeats what CHANGELOG marks for an upgrade', () => {
      expect(told.changelog.length).to.be.greaterThan(0)
    })

    it('says which layout the data has', () => {
      const [data] = told.data
      expect(data?.file).to.deep.equal({ path: 'other/data/sallyport.db', layout: 2 })
      expect(data?.new).to.be.greaterThan(2)
    })

    it('tells each decision that differs, cell by cell, once the policy is right', async () => {
      await edit('other/policies/policy.csv', (text) =>
        text.replace(/^p, (?:member, users, list, any|membr).*\n/gm, ''),
      )
      const { code, stdout } = await check('other', '--from', 'old')
      expect(code, stdout).to.equal(1)
      expect(stdout).to.match(/narrows: member GET \/users \(any\): allowed by policy.csv:\d+ -> denied\n/)
      expect(stdout).to.include('2 of ')
    })
  })

  it('takes nothing for equal where the old program fails', async () => {
    const program = 'process.stderr.write("sallyport: unknown command\\n"); process.exitCode = 2'
    const from = await writeOldPackage(at('broken'), { program, version: own.version })
    const { decisions, undecided, todo } = await report('api', from)
    expect([decisions.compared, todo]).to.deep.equal([0, true])
    expect(undecided).to.deep.equal([
      { part: 'decisions', reason: `\`policy matrix\` of ${own.version} failed: unknown command` },
    ])
  })

  const LOOPS = {
    hangs: 'setInterval(() => {}, 1000)',
    'never ends': 'const go = () => process.stdout.write("x".repeat(9999), go); go()',
  }
  for (const [name, program] of Object.entries(LOOPS)) {
    it(`waits for an old program within bounds: one that ${name}`, async () => {
      const root = await writeOldPackage(at(name.replace(' ', '-')), { program })
      const ask = (bounds: AnswerBounds) => askProgram({ root, version: '0.1.0' }, ['policy', 'matrix'], bounds)
      const [milliseconds, bytes] = [name === 'hangs' ? 500 : 60_000, 1_000_000]
      const failure = name === 'hangs' ? 'gave no answer in 0.5 s' : 'printed more than 1000000 bytes'
      expect(await ask({ milliseconds, bytes })).to.deep.equal({ failure: `\`policy matrix\` of 0.1.0 ${failure}` })
    })
  }

  it('tells as undecided what an old program that hangs would have decided', async () => {
    const folder = at('api')
    const project = {
      folder,
      schemas: join(folder, 'schemas'),
      policies: join(folder, 'policies'),
      matrices: join(folder, 'test/matrix'),
      migrations: join(folder, 'migrations'),
      database: { engine: 'sqlite', location: join(folder, 'missing') },
    } as const
    const bounds = { milliseconds: 1500, bytes: 1_000_000 }
    const told = await checkUpgrade({ project, from: at('hangs'), now: new Date(), bounds })
    expect([told.todo, told.decisions.compared]).to.deep.equal([true, 0])
    expect(told.undecided).to.deep.include({
      part: 'decisions',
      reason: '`policy matrix` of 0.1.0 gave no answer in 1.5 s',
    })
  })

  it('says what to type where somebody forgets that it only looks', async () => {
    const { code, stdout, stderr } = await workshop.sallyport('.', 'upgrade')
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(stderr).to.match(
      /^sallyport: upgrade only looks, and installs nothing: write `.* upgrade --check`, and .*\n$/,
    )
  })

  it('refuses, in one sentence, what is no project and what is no earlier package', async () => {
    const refused = async (sentence: RegExp, ...args: readonly string[]) => {
      const { code, stdout, stderr } = await workshop.sallyport('.', 'upgrade', ...args)
      expect([code, stdout], stderr).to.deep.equal([2, ''])
      expect(stderr)
        .to.match(sentence)
        .and.match(/^sallyport: [^\n]*\n$/)
    }
    await refused(/nowhere\/schemas is not a directory: name the folder of a project/, '--check', 'nowhere')
    await refused(/no package `sallyport` was found in bin: name the folder/, '--check', 'api', '--from', 'bin')
    const here = new URL('../..', import.meta.url).pathname
    await refused(/is the program that runs now: run the newer one/, '--check', 'api', '--from', here)
    await refused(/upgrade only looks/, 'api')
  })
})

/** As much of a file as tells its layout. */
function sqliteHeader(layout: number): Buffer {
  const header = Buffer.alloc(100)
  header.write('SQLite format 3\0', 'latin1')
  header.writeUInt32BE(layout, 60)
  return header
}
