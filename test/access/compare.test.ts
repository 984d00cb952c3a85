/** `access compare` between versions of the history, folders and times, and what is asked wrongly. */
import { generateKeyPairSync } from 'node:crypto'
import { chmod, cp, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import type { AccessComparison } from '../../src/tools/access/compare.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'

const FIRST = 'p, member, orders, list|read, owner+draft, *, allow\n'
const SECOND = `p, member, orders, list|read, owner+placed, *, allow
p, support, orders, read, any, note, allow
p, support, orders, create, any, *, allow
`

for (const [name, onEngine] of ENGINES) {
  describe(`access compare on ${name}`, () => {
    let on: OnEngine
    let between: string

    const command = (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
      return sallyport(args, { env: { ...on.env, ...more } })
    }
    const compare = async (...words: readonly string[]): Promise<AccessComparison> => {
      const { stdout, stderr } = await command(['access', 'compare', ...words, '--format', 'json'])
      expect(stdout, stderr).to.not.equal('')
      const found = JSON.parse(stdout)
      const shape = new URL('../../docs/schemas/access-compare.schema.json', import.meta.url)
      const ajv = addFormats.default(new Ajv2020.default({ strict: false }))
      expect(ajv.validate(JSON.parse(await readFile(shape, 'utf8')), found), ajv.errorsText()).to.equal(true)
      return found
    }
    const candidate = async (text: string) => {
      const folder = await mkdtemp(join(on.server.folder, 'candidate-'))
      const filter = (path: string) => !path.includes('.versions')
      await cp(join(on.server.folder, 'policies'), folder, { recursive: true, filter })
      await writeFile(join(folder, 'policy.csv'), text)
      return folder
    }
    const apply = async (text: string) => {
      const { code, stderr } = await command(['policy', 'apply', await candidate(text), '--yes'])
      expect(code, stderr).to.equal(0)
    }

    before(async () => {
      const files = {
        'policies/policy.csv': FIRST,
        'policies/guarantees.yaml': '[]\n',
        'policies/views.yaml': 'orders: { note: [note] }\naccounts: { balance: [balance] }\n',
        'policies/roles.yaml': 'member: { description: A role. }\nsupport: { description: A role. }\n',
        'policies/ownership.yaml': `orders:
  relations:
    owner: customerId
    draft: { field: status, in: [draft] }
    placed: { field: status, in: [placed] }
`,
        'policies/blocked.txt': '',
      }
      on = await onEngine({ files, uncheckedBecause: 'roles of its own' })
      const person = (id: string, role: string) => ({
        id,
        document: { email: `${id}@example.com`, name: id, roles: [role] },
      })
      await on.server.app.seeding.insert('users', [
        person('alice', 'member'),
        person('bob', 'member'),
        person('sam', 'support'),
      ])
      const order = (id: string, status: string) => ({
        id,
        document: { customerId: 'alice', status, item: 'tea', quantity: 1 },
      })
      await on.server.app.seeding.insert('orders', [order('o1', 'draft'), order('o2', 'placed'), order('o3', 'placed')])
      await apply(`${FIRST}# first\n`)
      between = new Date().toISOString()
      await apply(SECOND)
    })
    after(() => on.stop())

    it('tells what each person gained and lost, on the objects of today', async () => {
      const { changes, compared, undecided } = await compare('--from', between)
      expect([compared, undecided]).to.deep.equal([3, []])
      expect(changes.map(({ subject, action }) => `${subject} ${action}`)).to.deep.equal([
        'alice list',
        'alice read',
        'sam create',
        'sam read',
      ])
      const [, read, create, note] = changes
      expect(read?.gained).to.include({ objects: 2, byValues: 0 })
      expect(read?.lost).to.include({ objects: 1, byValues: 0 })
      expect(create).to.deep.include({ lost: null, when: [] })
      expect(create?.gained?.objects).to.equal(null)
      expect(note?.gained).to.deep.include({ objects: 3, fields: [{ names: ['note'], objects: 3 }] })
    })

    it('finds a version by its number, its revision, a time or a folder', async () => {
      const all = await compare('--from', between)
      // The files that were there before are version 1.
      for (const from of ['2', all.from, between]) {
        expect(await compare('--from', from, '--to', '3')).to.deep.include({ from: all.from, changes: all.changes })
      }
      expect((await compare('--from', join(on.server.folder, 'policies'))).changes).to.deep.equal([])
    })

    it('finds a published version by its number and by a time', async () => {
      const signing = join(on.server.folder, 'signing.pem')
      const { privateKey } = generateKeyPairSync('ed25519')
      await writeFile(signing, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
      const published = { POLICY_SIGNING_KEY: signing, POLICIES: 'database:' }
      const publish = async (text: string) => {
        const { code, stderr } = await command(['policy', 'apply', await candidate(text), '--yes'], published)
        expect(code, stderr).to.equal(0)
      }
      await publish(FIRST)
      const time = new Date().toISOString()
      await publish(SECOND)
      const all = await compare('--from', between)
      for (const from of ['1', 'database:1', time]) {
        const { stdout, stderr } = await command(['access', 'compare', '--from', from, '--format', 'json'], published)
        expect(stdout, stderr).to.not.equal('')
        expect(JSON.parse(stdout).changes).to.deep.equal(all.changes)
      }
    })

    it('says it in words', async () => {
      const { stdout } = await command(['access', 'compare', '--from', between])
      expect(stdout).to.match(/^alice \(member\) +gained +read +orders +always +2 /m)
      expect(stdout).to.match(/^alice \(member\) +lost +read +orders +always +1 /m)
      expect(stdout).to.match(/^3 callers compared, 2 with a change, 0 undecided$/m)
    })

    it('refuses a version whose files were edited', async () => {
      const versions = join(on.server.folder, 'policies/.versions')
      const [second = ''] = (await readdir(versions)).filter((one) => one.startsWith('0002-'))
      const file = join(versions, second, 'policy.csv')
      const text = await readFile(file, 'utf8')
      await chmod(file, 0o644)
      await writeFile(file, `${text}p, member, orders, delete, any, *, allow\n`)
      const { code, stderr } = await command(['access', 'compare', '--from', '2'])
      expect(code).to.equal(2)
      expect(stderr).to.include('the files of version 2 were edited: choose another version')
      await writeFile(file, text)
      expect((await compare('--from', '2')).changes).to.have.length(4)
    })

    it('refuses a version that the history does not have', async () => {
      for (const [from, text] of [
        ['99', 'no version with the number 99'],
        ['2001-01-01', 'no version in force at 2001-01-01'],
        ['nothing-there', '`nothing-there` is'],
      ] as const) {
        const { code, stderr } = await command(['access', 'compare', '--from', from])
        expect([code, stderr.includes(text)], stderr).to.deep.equal([2, true])
      }
    })
  })
}
