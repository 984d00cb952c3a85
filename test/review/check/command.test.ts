/** `sallyport policy check` as its users run it: exit codes, what is printed, in which form. */
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { openSqlite } from '../../../src/store/sqlite/open.ts'
import { type Ended, ROOT, sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { sarifFaults } from '../../sarif.ts'
import { policyCheck } from './program.ts'

const BASE = fileURLToPath(new URL('base', import.meta.url))
const JSON_SHAPE = new URL('../../../docs/schemas/policy-check.schema.json', import.meta.url)

const WARNED = 'p, support, docs, read, owner, *, allow\n'

describe('sallyport policy check', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-check-'))
    await cp(BASE, join(folder, 'policies'), { recursive: true })
    await cp(join(BASE, 'schemas'), join(folder, 'schemas'), { recursive: true })
  })
  afterEach(() => removeFolder(folder))

  describe('has exit code', () => {
    it('0 when nothing is wrong', async () => {
      expect(await check()).to.deep.equal({ code: 0, stdout: 'nothing found (1 suppressed)\n', stderr: '' })
    })

    it('0 with warnings alone, and 1 with --fail-on warning', async () => {
      await add('policy.csv', WARNED)
      const [usual, strict] = await Promise.all([check(), check('--fail-on', 'warning')])
      expect([usual.code, strict.code]).to.deep.equal([0, 1])
      expect(usual.stdout).to.equal(strict.stdout).and.include('0 errors, 1 warning (1 suppressed)\n')
    })

    it('1 with an error', async () => {
      await add('policy.csv', 'p, Support, docs, read, owner, *, allow\n')
      expect((await check()).code).to.equal(1)
    })

    it('1 when the server would miss a file', async () => {
      await rm(join(folder, 'policies/views.yaml'))
      const { code, stdout } = await check()
      expect(code).to.equal(1)
      expect(stdout).to.include("policies/views.yaml:1:1: error: the file can't be read")
    })

    it('2, with one clear sentence, when it could not run', async () => {
      await writeFile(join(folder, 'users.bin'), Buffer.from([0xff, 0xfe, 0x00]))
      await writeFile(join(folder, 'users.txt'), 'ann\nuser:bob\n')
      await writeFile(join(folder, 'users.db'), 'SQLite format 3\0 but nothing else')
      const faulty: readonly (readonly [readonly string[], RegExp])[] = [
        [['nowhere'], /^sallyport: nowhere is not a directory: name a directory of policy files$/],
        [
          ['policies/policy.csv'],
          /^sallyport: policies\/policy.csv is not a directory: name a directory of policy files$/,
        ],
        [['--schemas', 'policies'], /./],
        [
          ['--format', 'xml'],
          /^sallyport: option '--format <format>' argument 'xml' is invalid\. Allowed choices are text/,
        ],
        [['--fail-on', 'hint'], /^sallyport: option '--fail-on <severity>' argument 'hint' is invalid/],
        [
          ['--at', '2026-02-30T00:00:00Z'],
          /^sallyport: --at: `2026-02-30T00:00:00Z` names a day that doesn't exist: write /,
        ],
        [['policies', 'another'], /^sallyport: too many arguments/],
        [
          ['--directory', 'nobody.txt'],
          /^sallyport: the directory `nobody.txt` can't be read: no such file or directory/,
        ],
        [['--directory', 'policies'], /^sallyport: the directory `policies` can't be read: it is a folder/],
        [['--directory', 'users.bin'], /^sallyport: the directory `users.bin` is neither UTF-8 text/],
        [['--directory', 'users.txt'], /^sallyport: line 2 of `users.txt` starts with `user:`: write only the id$/],
        [['--directory', 'users.db'], /^sallyport: no schema declares `users`/],
      ]
      const ended = await Promise.all(faulty.map(([args]) => check(...args)))
      for (const [i, { code, stdout, stderr }] of ended.entries()) {
        const [args, sentence] = faulty[i] ?? [[], /^$/]
        expect({ args, code, stdout }).to.deep.equal({ args, code: 2, stdout: '' })
        expect(stderr.trimEnd()).to.match(sentence)
      }
    })

    it('2 with a broken schema file, which is told with its place', async () => {
      await writeFile(join(folder, 'schemas/docs.json'), '{ "type": }')
      const { code, stdout, stderr } = await check()
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.match(/schemas\/docs\.json:1:\d+: /)
    })
  })

  describe('prints', () => {
    it('the sentence, the line with a caret under the place, what to do, and how many there are', async () => {
      await add('policy.csv', 'p,\tMember, docs, read, owner, *, allow\n')
      await add('blocked.txt', 'user:ann until=2026-05-31T00:00:00Z\n')
      const { stdout } = await check()
      expect(
        stdout,
      ).to.equal(`policies/blocked.txt:2:1: warning: \`user:ann\` is no longer blocked: the block has ended [block-expired]
    2 | user:ann until=2026-05-31T00:00:00Z
      | ^
  = delete the line, or write a later time

policies/policy.csv:10:4: error: the role \`Member\` is not declared [unknown-role]
   10 | p,\tMember, docs, read, owner, *, allow
      |   \t^
  = declare it in roles.yaml, or write everyone, anonymous or user:<id>; did you mean \`member\`?

1 error, 1 warning
`)
    })

    it('nothing that a terminal would obey or turn around, and long lines cut', async () => {
      const long = 'x'.repeat(500)
      await add('policy.csv', `p, \u{1b}[31m${long}\u{202e}, docs, read, owner, *, Deny\n`)
      const { stdout } = await check()
      for (const character of ['\u{1b}', '\u{202e}']) expect(stdout).not.to.include(character)
      const widest = stdout.split('\n').filter((line) => line.includes(' | '))
      expect(Math.max(...widest.map((line) => line.length))).to.be.lessThan(180)
    })

    it('JSON of the shape that docs/schemas/policy-check.schema.json tells', async () => {
      await add('policy.csv', `${WARNED}p, Member, docs, read, owner, *, allow\n`)
      const isShaped = new Ajv2020({ strict: true }).compile(JSON.parse(await readFile(JSON_SHAPE, 'utf8')))
      const [ended, clean] = await Promise.all([check('--format', 'json'), check('--format', 'json', BASE)])
      for (const { stdout } of [ended, clean]) {
        expect(isShaped(JSON.parse(stdout)), JSON.stringify(isShaped.errors)).to.equal(true)
      }
      const { findings, guarantees, ...counts } = JSON.parse(ended.stdout)
      expect(counts).to.deep.equal({ errors: 1, warnings: 0, suppressed: 0, more: 0 })
      expect(findings[0]).to.include({ file: 'policies/policy.csv', line: 11, column: 4, code: 'unknown-role' })
      expect(isShaped({ ...counts, guarantees, findings })).to.equal(true)
      expect(isShaped({ ...counts, guarantees, findings: [{ ...findings[0], line: 0 }] })).to.equal(false)
    })

    it('what is to say at another time, with --at', async () => {
      await add('policy.csv', 'p, user:ann, docs, read, any, *, allow, until=2026-07-01T00:00:00Z\n')
      await add('blocked.txt', 'user:bob until=2026-07-01T00:00:00Z\n')
      const codes = async (...args: readonly string[]) =>
        JSON.parse((await check('--format', 'json', ...args)).stdout).findings.map(({ code }: { code: string }) => code)
      expect(await codes()).to.deep.equal([])
      expect(await codes('--at', '2026-06-30T23:59:59.999Z')).to.deep.equal([])
      expect(await codes('--at', '2026-07-01T00:00:00Z')).to.deep.equal(['block-expired', 'rule-expired'])
    })

    it('SARIF 2.1.0 in which every result has its rule and its place', async () => {
      await add('policy.csv', WARNED)
      await add('roles.yaml', 'visitor: { description: Looks around. }\n')
      const log = JSON.parse((await check('--format', 'sarif')).stdout)
      expect(sarifFaults(log)).to.deep.equal([])
      const [{ tool, results }] = log.runs
      const rules = new Set(tool.driver.rules.map(({ id }: { id: string }) => id))
      expect(results.map(({ ruleId }: { ruleId: string }) => ruleId)).to.deep.equal([
        'rule-covered',
        'role-without-grant',
      ])
      expect(results.every(({ ruleId }: { ruleId: string }) => rules.has(ruleId))).to.equal(true)
      expect(results[0].locations[0].physicalLocation).to.deep.equal({
        artifactLocation: { uri: 'policies/policy.csv' },
        region: { startLine: 10, startColumn: 1 },
      })
      expect(sarifFaults({ ...log, version: '2.0.0' })).to.not.deep.equal([])
    })

    it('SARIF in which a finding stays the same one when lines are put above it', async () => {
      await add('policy.csv', WARNED)
      await add('roles.yaml', 'visitor: { description: Looks around. }\n')
      const prints = async () => {
        const { runs } = JSON.parse((await check('--format', 'sarif')).stdout)
        return runs[0].results.map((one: { partialFingerprints: object }) => one.partialFingerprints)
      }
      const before = await prints()
      const file = join(folder, 'policies/policy.csv')
      const text = await readFile(file, 'utf8')
      await writeFile(file, `# a new line\n${text}`)
      expect(await prints()).to.deep.equal(before)
      expect(new Set(before.map((one: object) => JSON.stringify(one))).size)
        .to.equal(before.length)
        .and.be.above(1)
      await writeFile(file, `${text.slice(0, -WARNED.length)}${WARNED.replace(' docs', '  docs')}`)
      expect(await prints()).to.not.deep.equal(before)
    })

    it('SARIF with paths as URIs', async () => {
      await cp(join(folder, 'policies'), join(folder, 'a b#'), { recursive: true })
      await writeFile(join(folder, 'a b#/policy.csv'), 'p, Member, docs, read, owner, *, allow\n')
      const uriOf = async (directory: string) => {
        const { runs } = JSON.parse((await check(directory, '--format', 'sarif')).stdout)
        return runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri
      }
      expect(await uriOf('a b#')).to.equal('a%20b%23/policy.csv')
      expect(await uriOf(join(folder, 'a b#'))).to.match(/^file:\/\/\/.*a%20b%23\/policy\.csv$/)
    })

    it('that the shipped policy has no finding', async () => {
      const { code, stdout } = await sallyport(['policy', 'check', '--fail-on', 'warning'])
      const proven = '2 guarantees proven, in 2 cells'
      expect({ code, stdout }).to.deep.equal({ code: 0, stdout: `${proven}\n\nnothing found (1 suppressed)\n` })
    })
  })

  describe('asks who exists', () => {
    beforeEach(() =>
      add('policy.csv', 'p, user:ann, jobs, read, any, *, allow\np, user:ane, jobs, read, any, *, allow\n'),
    )

    it('a text file of ids', async () => {
      await writeFile(join(folder, 'users.txt'), '\u{feff}bob\r\nann\r\n')
      expect(unknown(await check('--directory', 'users.txt'))).to.deep.equal(['user:ane'])
    })

    it('the database of a server, in use or not, and leaves it as it is', async () => {
      await cp(join(ROOT, 'schemas/users.json'), join(folder, 'schemas/users.json'))
      const resources = await loadResources(join(folder, 'schemas'))
      const file = join(folder, 'sallyport.db')
      const { store, seeding } = await openSqlite({ file, resources, now: () => new Date() })
      await seeding.insert('users', [{ id: 'ann', document: { email: 'a@example.com', displayName: 'A' } }])
      expect(unknown(await check('--directory', 'sallyport.db'))).to.deep.equal(['user:ane'])
      await store.close()
      const before = await hash(file)
      expect(unknown(await check('--directory', 'sallyport.db'))).to.deep.equal(['user:ane'])
      expect(await hash(file)).to.equal(before)
    })

    it('nobody without --directory', async () => {
      expect(unknown(await check())).to.deep.equal([])
    })
  })

  function check(...args: readonly string[]): Promise<Ended> {
    return policyCheck(args, folder)
  }

  async function add(file: string, text: string): Promise<void> {
    const path = join(folder, 'policies', file)
    await writeFile(path, `${await readFile(path, 'utf8')}${text}`)
  }
})

function unknown({ stdout }: Ended): readonly string[] {
  return [...stdout.matchAll(/no user `(.*)` \[unknown-user\]/g)].map(([, subject = '']) => subject)
}

async function hash(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}
