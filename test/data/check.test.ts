/** `sallyport data check` beside a running server: it finds what is wrong with stored objects, and nothing else. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import type { DataReport } from '../../src/tools/data/check/check-data.ts'
import { DATA_CODES } from '../../src/tools/data/check/findings.ts'
import { sectionOf } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { data } from './command.ts'
import { ENGINES, type OnEngine } from './each-engine.ts'

const SHAPE = new URL('../../docs/schemas/data-check.schema.json', import.meta.url)
const ANY = { ownerId: 'alice', title: 't' }

for (const [name, open] of ENGINES) {
  describe(`data check on ${name}`, () => {
    let on: OnEngine
    let report: DataReport & { readonly code: number }
    before(async () => {
      on = await open({ demo: true })
    })
    after(() => on.stop())

    const check = async (...args: readonly string[]) => {
      const ended = await data(['check', '--database', on.url, '--format', 'json', ...args], on.server)
      if (ended.code === 2) throw new Error(ended.stderr)
      report = { ...JSON.parse(ended.stdout), code: ended.code }
      return report
    }
    const found = () =>
      report.findings.map(({ resource, code, pointer, objects }) => [resource, code, pointer, objects])

    /** A new note each, whose row is then changed. */
    const damaged = async (...changes: readonly string[]) => {
      const token = await on.server.token('alice', 'member')
      const ids: string[] = []
      for (const change of changes) {
        const { body } = await on.server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
        ids.push(body.id)
        await on.run(`update objects_notes set ${change} where id = '${body.id}'`)
      }
      return ids
    }
    const fix = (ids: readonly string[]) =>
      on.run(`delete from objects_notes where id in (${ids.map((id) => `'${id}'`).join()})`)

    it('finds nothing in what only a server has written', async () => {
      await check()
      expect(found()).to.deep.equal([])
      expect(report.code).to.equal(0)
      expect(report.resources.map(({ resource, objects }) => [resource, objects])).to.deep.equal([
        ['accounts', 4],
        ['notes', 8],
        ['orders', 8],
        ['users', 5],
      ])
      expect(report.unchecked.map(({ what }) => what)).to.deep.equal(name === 'SQLite' ? [] : Array(4).fill('indexes'))
    })

    it('counts the objects that other schemas would refuse, by resource and reason, with the first ids', async () => {
      const schema = JSON.parse(await readFile(`${on.server.folder}/schemas/orders.json`, 'utf8'))
      const { note, ...properties } = schema.properties
      properties.status.enum = ['draft']
      properties.reference = { type: 'string', maxLength: 20 }
      const changed = { ...schema, properties, required: [...schema.required, 'reference'] }
      const folder = `${on.server.folder}/schemas-new`
      await copySchemas(on.server.folder, folder)
      // Commands set what the changed schema refuses.
      await removeFolder(`${folder}/commands`)
      await writeFile(`${folder}/orders.json`, JSON.stringify(changed))
      await check('--schemas', folder)
      expect(report.code).to.equal(1)
      const kinds = report.findings.map(({ resource, pointer, keyword }) => [resource, pointer, keyword])
      expect(kinds).to.deep.include.members([
        ['orders', '/reference', 'required'],
        ['orders', '/status', 'enum'],
      ])
      const [required] = report.findings
      expect(required).to.include({ code: 'schema-misfit', objects: 8, message: '`/reference` is required' })
      expect(required?.ids).to.have.length(8)
      expect(report.unchecked.find(({ what }) => what === 'references')?.why).to.include('the policy does not fit')
    })

    it('takes a field with a default for present, as PATCH does', async () => {
      const schema = JSON.parse(await readFile(`${on.server.folder}/schemas/orders.json`, 'utf8'))
      schema.properties.channel = { type: 'string', enum: ['web', 'shop'], default: 'web' }
      schema.required.push('channel')
      const folder = `${on.server.folder}/schemas-default`
      await copySchemas(on.server.folder, folder)
      await writeFile(`${folder}/orders.json`, JSON.stringify(schema))
      await check('--schemas', folder)
      expect(found()).to.deep.equal([])
    })

    it('finds damaged documents, and says which', async () => {
      const ids = await damaged(`document = '[]'`, `document = '7'`, `document = '{"title":"t","title":"u"}'`)
      await check('--resource', 'notes')
      expect(report.findings.map(({ code, objects }) => [code, objects])).to.deep.include.members([
        ['document-not-object', 2],
        ['document-name-twice', 1],
      ])
      expect(report.findings.find(({ code }) => code === 'document-not-object')?.ids).to.deep.equal(ids.slice(0, 2))
      expect(report.resources).to.deep.equal([{ resource: 'notes', objects: 11, faulty: 3 }])
      await fix(ids)
    })

    it('finds owners that do not exist, and no longer when they do', async () => {
      const ids = await damaged(`document = '{"ownerId":"nobody","title":"t"}'`)
      await check('--resource', 'notes')
      const missing = report.findings.find(({ code }) => code === 'user-missing')
      expect(missing).to.include({ pointer: '/ownerId', objects: 1 })
      expect(missing?.ids).to.deep.equal(ids)
      await on.server.app.seeding.insert('users', [
        { id: 'nobody', document: { name: 'N', email: 'nobody@example.com', roles: [] } },
      ])
      await check('--resource', 'notes')
      expect(report.findings.filter(({ code }) => code === 'user-missing')).to.deep.equal([])
      await fix(ids)
      await on.run(`delete from objects_users where id = 'nobody'`)
    })

    it('finds versions that no write makes, and objects whose schema is gone', async () => {
      const ids = await damaged('version = 0')
      await check()
      expect(found()).to.deep.equal([['notes', 'version-invalid', undefined, 1]])
      await fix(ids)
      const folder = `${on.server.folder}/schemas-fewer`
      await copySchemas(on.server.folder, folder, 'notes.json')
      await check('--schemas', folder)
      expect(found()).to.deep.equal([['notes', 'schema-gone', undefined, 8]])
    })

    it('finds values that objects share in a field that is declared unique', async () => {
      const schema = JSON.parse(await readFile(`${on.server.folder}/schemas/notes.json`, 'utf8'))
      schema.properties.code = { type: 'string', maxLength: 9, 'x-unique': true }
      const folder = `${on.server.folder}/schemas-unique`
      await copySchemas(on.server.folder, folder)
      await writeFile(`${folder}/notes.json`, JSON.stringify(schema))
      const ids = ['shared-1', 'shared-2', 'shared-3']
      const objects = ['x', 'x', 'y'].map((code, n) => ({ id: ids[n] ?? '', document: { ...ANY, code } }))
      await on.server.app.seeding.insert('notes', objects)
      await check('--schemas', folder, '--resource', 'notes')
      const shared = report.findings.find(({ code }) => code === 'value-shared')
      expect(shared).to.deep.include({ pointer: '/code', objects: 2, ids: ids.slice(0, 2) })
      await fix(ids)
    })

    if (name === 'PostgreSQL') {
      it('finds rows whose keys are not of their document', async () => {
        const ids = await damaged(`keys = keys || '{"title":["2x"]}'`)
        await check()
        expect(found()).to.deep.equal([['notes', 'index-disagrees', '/title', 1]])
        expect(report.findings[0]?.ids).to.deep.equal(ids)
        await fix(ids)
      })

      it('finds documents that are not JSON', async () => {
        const ids = await damaged(`document = '{"title":'`)
        await check()
        expect(found()).to.deep.equal([['notes', 'document-not-json', undefined, 1]])
        await fix(ids)
      })
    }

    it('reads all objects, and each once, while clients write', async () => {
      const token = await on.server.token('alice', 'member')
      let writing = true
      const write = async () => {
        for (let n = 0; writing; n += 1) {
          const { body } = await on.server.ask('POST', '/api/v1/notes', { token, body: { title: `t${n}` } })
          await on.server.ask('DELETE', `/api/v1/notes/${body.id}`, { token })
        }
      }
      const writers = [write(), write()]
      for (let n = 0; n < 3; n += 1) {
        await check()
        expect(found()).to.deep.equal([])
        expect(report.resources.find(({ resource }) => resource === 'orders')?.objects).to.equal(8)
      }
      writing = false
      await Promise.all(writers)
    })

    it('gives JSON of the shape that docs/schemas/data-check.schema.json tells', async () => {
      const ids = await damaged(`document = '[]'`)
      const validate = new Ajv2020({ allErrors: true }).compile(JSON.parse(await readFile(SHAPE, 'utf8')))
      const { code, ...printed } = await check()
      expect(validate(printed), JSON.stringify(validate.errors)).to.equal(true)
      expect(validate({ ...printed, findings: [{ ...printed.findings[0], code: 'other' }] })).to.equal(false)
      await fix(ids)
    })

    it('says in text what is wrong and what to do', async () => {
      const ids = await damaged(`document = '{"ownerId":"alice"}'`)
      const { stdout, code } = await data(['check', '--database', on.url, '--resource', 'notes'], on.server)
      expect(code).to.equal(1)
      expect(stdout).to.include('notes: 9 objects\n  1 object: `/title` is required [schema-misfit]\n')
      expect(stdout).to.include(`    ${ids[0]}\n    = migrate the objects, or let the schema accept them\n`)
      expect(stdout).to.match(/9 objects checked, 1 with findings\n$/)
      await fix(ids)
    })

    it('refuses bad input with one sentence and exit code 2', async () => {
      const faulty: readonly (readonly [readonly string[], RegExp])[] = [
        [['--resource', 'note'], /^sallyport: no schema declares the resource `note`: name one of .*`notes`\?$/],
        [['--database', 'mysql://x'], /^sallyport: --database names a database that is not supported; set it to /],
        [['--database', 'postgres://u:sesame@127.0.0.1/x'], /^sallyport: (?!.*sesame)--database has a password, /],
        [
          ['--database', 'postgres://u:sesame@127.0.0.1:1,127.0.0.1:2/x?target_session_attrs=any'],
          /^sallyport: (?!.*sesame)--database has a password, /,
        ],
        [['--database', 'sqlite:none.db'], /^sallyport: the database `none.db` can't be read: there is no such file$/],
        [['--schemas', 'nowhere'], /^sallyport: nowhere:1:1: the directory of schemas cannot be read/],
        [['--policies', 'nowhere'], /^sallyport: nowhere is not a directory: name a directory of policy files$/],
        [['--format', 'xml'], /^sallyport: option '--format <format>' argument 'xml' is invalid/],
      ]
      for (const [args, message] of faulty) {
        const { code, stdout, stderr } = await data(['check', '--database', on.url, ...args], on.server)
        expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
        expect(stderr.trimEnd()).to.match(message)
        expect(stderr.trimEnd().split('\n')).to.have.length(1)
      }
    })
  })
}

async function copySchemas(from: string, to: string, without = ''): Promise<void> {
  await cp(`${from}/schemas`, to, { recursive: true })
  if (without) await rm(`${to}/${without}`)
}

describe('docs/changing-schemas.md', () => {
  it('has every code of data check, and no other', async () => {
    const page = await readFile(new URL('../../docs/changing-schemas.md', import.meta.url), 'utf8')
    const rows = sectionOf(page, "Find stored objects that don't fit").match(/^\| `[^|]*\|/gm) ?? []
    const codes = rows.flatMap((row) => row.match(/[\w-]+/g) ?? [])
    expect(codes).to.have.members(Object.keys(DATA_CODES))
  })
})
