/** `sallyport data import`: each row passes the gate, with its record; and no row is written twice by mistake. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { fillExample } from '../../examples/projects/fill.ts'
import type { ImportReport } from '../../src/tools/data/import/import-data.ts'
import { soak } from '../runs.ts'
import { startTestServer } from '../server.ts'
import { data, type Ended } from './command.ts'
import { ENGINES, type OnEngine } from './each-engine.ts'

const LAUNCHER = new URL('../../bin/sallyport.js', import.meta.url).pathname
const SHAPE = new URL('../../docs/schemas/data-import.schema.json', import.meta.url)
const OWN_ID = '01a20653-963a-776c-a3f0-000000000001'

const note = (title: string, more: object = {}) => ({ resource: 'notes', object: { title, ...more } })
const order = (status: string, customerId = 'alice') => ({
  resource: 'orders',
  object: { customerId, status, currency: 'EUR', items: [{ sku: 'A-1', quantity: 1, unitPrice: 5 }] },
})

for (const [name, open] of soak(ENGINES.slice(1), ENGINES.slice(0, 1))) {
  describe(`data import on ${name}`, () => {
    let on: OnEngine
    let count = 0
    before(async () => {
      on = await open({ demo: true })
    })
    after(() => on.stop())

    /** A file of its own, with the end line unless told otherwise. */
    const written = async (rows: readonly object[], end: object | null = { end: { objects: rows.length } }) => {
      count += 1
      const file = `${on.server.folder}/rows-${count}.ndjson`
      const lines = [...rows, ...(end ? [end] : [])].map((row) => `${JSON.stringify(row)}\n`)
      await writeFile(file, lines.join(''))
      return file
    }
    const run = (file: string, ...args: readonly string[]) =>
      data(['import', file, '--database', on.url, '--format', 'json', ...args], on.server)
    const reportOf = ({ stdout, stderr }: Ended): ImportReport => {
      if (stdout === '') throw new Error(stderr)
      return JSON.parse(stdout)
    }
    const titles = async () => {
      const token = await on.server.token('audrey', 'auditor')
      const { body } = await on.server.ask('GET', '/api/v1/notes?limit=200&sort=-createdAt', { token })
      return body.items.map(({ title }: { title: string }) => title) as readonly string[]
    }

    it('writes what the policy allows, and says of each refused line why, with a record each', async () => {
      const rows = [
        note('one'),
        order('shipped'),
        note('two', { ownerId: 'bob' }),
        { ...note(''), extra: 1 },
        note('three\u2028lines'),
      ]
      const before = (await on.server.decisions()).length
      const ended = await run(await written(rows), '--as', 'alice')
      const report = reportOf(ended)
      expect(ended.code).to.equal(1)
      expect(report).to.include({ rows: 5, written: 2, writtenBefore: 0, refused: 3 })
      expect(report.writtenLines).to.deep.equal(['1', '5'])
      expect(report.refusedLines.map(({ line, status, code }) => [line, status, code])).to.deep.equal([
        [2, 403, 'forbidden'],
        [3, 403, 'forbidden'],
        [4, 400, 'invalid-body'],
      ])
      const records = (await on.server.decisions()).slice(before).filter(({ method }) => method === 'POST')
      expect(records.map(({ outcome, status }) => [outcome, status]).toSorted()).to.deep.equal([
        ['allowed', 201],
        ['allowed', 201],
        ['refused', 400],
        ['refused', 403],
        ['refused', 403],
      ])
      for (const record of records) expect(record).to.include({ instance: 'data-import', subject: 'alice' })
      const validate = new Ajv2020({ allErrors: true }).compile(JSON.parse(await readFile(SHAPE, 'utf8')))
      expect(validate(report), JSON.stringify(validate.errors)).to.equal(true)
      expect(validate({ ...report, written: -1 })).to.equal(false)
    })

    it('writes no row twice when it is run again, and all rows again with --again', async () => {
      const file = await written([note('once'), note('once more')])
      expect(reportOf(await run(file, '--as', 'alice'))).to.include({ written: 2, writtenBefore: 0 })
      const again = await run(file, '--as', 'alice')
      expect(again.code).to.equal(0)
      expect(reportOf(again)).to.include({ written: 0, writtenBefore: 2 })
      expect((await titles()).filter((title) => title === 'once')).to.have.length(1)
      expect(reportOf(await run(file, '--as', 'alice', '--again'))).to.include({ written: 2, writtenBefore: 0 })
      expect((await titles()).filter((title) => title === 'once')).to.have.length(2)
      expect(reportOf(await run(file, '--as', 'alice', '--again', '--from-line', '2'))).to.deep.include({
        written: 1,
        writtenLines: ['2'],
      })
    })

    it('keeps ids for a caller who may create any object with the field id, and for nobody else', async () => {
      const file = await written([{ ...order('draft'), object: { id: OWN_ID, ...order('draft').object } }])
      const refused = reportOf(await run(file, '--as', 'alice', '--keep-ids'))
      expect(refused.refusedLines).to.have.length(1)
      expect(refused.refusedLines[0]).to.include({ status: 403, code: 'field-forbidden' })
      const refusal = (await on.server.decisions()).findLast(({ subject }) => subject === 'alice')
      expect(refusal).to.deep.include({ problem: 'field-forbidden', fieldsRefused: ['id'] })
      expect(refusal?.facts).to.deep.include({ chosen: ['id'] })
      const admin = ['--as', 'ada', '--role', 'admin', '--keep-ids']
      expect(reportOf(await run(file, ...admin))).to.include({ written: 1 })
      const token = await on.server.token('alice', 'member')
      expect((await on.server.ask('GET', `/api/orders/${OWN_ID}`, { token })).status).to.equal(200)
      const taken = reportOf(await run(file, ...admin, '--again'))
      expect(taken.refusedLines[0]).to.include({ status: 409, code: 'unique-taken' })
      // The record has all that replay needs.
      const { stdout } = await replay(on.server.folder)
      expect(JSON.parse(stdout).differences).to.deep.equal([])
      // No client can choose an id.
      const key = { 'idempotency-key': 'x' }
      const body = { ...order('draft').object, id: OWN_ID }
      const asked = await on.server.ask('POST', '/api/orders', { token, body, headers: key })
      expect(asked.status).to.equal(400)
    })

    it('refuses a file that is only a part, or no export, and writes nothing of it', async () => {
      const before = await titles()
      const part = await written([note('part'), note('other part')], null)
      const fewer = await written([note('part')], { end: { objects: 2 } })
      const broken = await written([note('part')])
      await writeFile(broken, `${await readFile(broken, 'utf8')}{"resource":"notes","obj`)
      const twice = await written([note('one')])
      await writeFile(
        twice,
        '{"resource":"notes","object":{"title":"one","ti\\u0074le":"two"}}\n{"end":{"objects":1}}\n',
      )
      const rounded = await written([note('one')])
      await writeFile(rounded, '{"resource":"notes","object":{"title":9007199254740993}}\n{"end":{"objects":1}}\n')
      const faulty: readonly (readonly [string, RegExp])[] = [
        [part, /doesn't end with the last line of a whole export/],
        [fewer, /doesn't end with the last line of a whole export/],
        [broken, /rows-\d+.ndjson:3: the line is not a JSON object: write an object a line; nothing was written/],
        [twice, /:1: the line is not strict JSON: correct the repeated name at column \d+; nothing was written/],
        [rounded, /:1: the line is not strict JSON: correct the number beyond 2\^53 at column \d+/],
        [await written([{ resource: 'note', object: {} }]), /:1: the line names no resource of the schemas/],
        [await written([{ resource: 'notes' }]), /:1: the line has no object/],
        [`${on.server.folder}/none`, /none can't be read \(no such file or directory\)/],
        [on.server.folder, /can't be read \(it is a folder\)/],
      ]
      for (const [file, message] of faulty) {
        const { code, stdout, stderr } = await run(file, '--as', 'alice')
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.match(message)
        expect(stderr.trimEnd().split('\n')).to.have.length(1)
      }
      expect(await titles()).to.deep.equal(before)
      expect(reportOf(await run(part, '--as', 'alice', '--incomplete'))).to.include({ written: 2 })
    })

    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      it(`stopped by ${signal}, writes the rest when it is run again, and each row once`, async () => {
        const all = Array.from({ length: 400 }, (_, n) => `${signal} ${n}`)
        const file = await written(all.map((title) => note(title)))
        const args = [LAUNCHER, 'data', 'import', file, '--as', 'alice', '--database', on.url, '--format', 'json']
        const child = spawn(process.execPath, args, { cwd: on.server.folder, stdio: ['ignore', 'pipe', 'pipe'] })
        let stdout = ''
        child.stdout.on('data', (chunk) => {
          stdout += chunk
        })
        const ended = once(child, 'close')
        const isBegun = async () => (await titles()).some((title) => title.startsWith(signal))
        while (!(await isBegun())) await sleep(5)
        child.kill(signal)
        const [code] = await ended
        if (signal === 'SIGINT' && code === 2) {
          const { written: n, stopped, writtenLines } = JSON.parse(stdout) as ImportReport
          expect(stopped?.why).to.equal('it was interrupted')
          expect(writtenLines).to.deep.equal([n === 1 ? '1' : `1-${n}`])
          expect(stopped?.line).to.equal(n + 1)
        }
        const again = await untilWhole(async () => reportOf(await run(file, '--as', 'alice')))
        expect(again.written + again.writtenBefore).to.equal(400)
        const { stdout: exported } = await data(['export', '--as', 'alice', '--database', on.url], on.server)
        for (const title of all) expect(exported.split(`"title":${JSON.stringify(title)},`), title).to.have.length(2)
      })
    }
  })
}

/** On a busy machine, what a killed run left in the database may hold up the next one so long that it stops. */
async function untilWhole(run: () => Promise<ImportReport>): Promise<ImportReport> {
  const report = await run()
  return report.stopped ? untilWhole(run) : report
}

function replay(folder: string): Promise<{ readonly stdout: string }> {
  const args = [LAUNCHER, 'policy', 'replay', 'data/decisions.log', '--format', 'json']
  return promisify(execFile)(process.execPath, args, { cwd: folder }).catch((error) => error)
}

describe('data import of the example of projects', () => {
  it('maps fields that name objects of the file to their new ids', async () => {
    const pathOf = (name: string) => new URL(`../../examples/projects/${name}`, import.meta.url).pathname
    const env = { POLICIES: pathOf('policies'), SCHEMAS: pathOf('schemas') }
    const server = await startTestServer({ demo: true, env })
    const made = await fillExample(server.url)
    const place = { folder: server.folder, env: { ...env, DATABASE_URL: `sqlite:${server.folder}/data/sallyport.db` } }
    const exported = async () => {
      const { stdout } = await data(['export', '--as', 'alice'], place)
      return stdout
        .split('\n')
        .filter((line) => line.includes('"resource"'))
        .map((line) => JSON.parse(line))
    }
    const before = await exported()
    const projects = before.filter(({ resource, object }) => resource === 'projects' && object.leadId === 'alice')
    const tasks = before.filter(({ resource, object }) => {
      return (
        resource === 'tasks' &&
        object.status === 'open' &&
        projects.some(({ object: { id } }) => id === object.projectId)
      )
    })
    expect(projects, JSON.stringify(made)).to.not.have.length(0)
    expect(tasks).to.not.have.length(0)
    const rows = [...projects, ...tasks, { end: { objects: projects.length + tasks.length } }]
    const lines = rows.map((row) => JSON.stringify(row))
    await writeFile(`${server.folder}/copy.ndjson`, lines.join('\n'))
    const report: ImportReport = JSON.parse(
      (await data(['import', 'copy.ndjson', '--as', 'alice', '--format', 'json'], place)).stdout,
    )
    expect(report.refusedLines).to.deep.equal([])
    const old = new Set(before.map(({ object }) => object.id))
    const added = (await exported()).filter(({ object }) => !old.has(object.id))
    const newProjects = added.filter(({ resource }) => resource === 'projects').map(({ object }) => object.id)
    expect(newProjects).to.have.length(projects.length)
    const newTasks = added.filter(({ resource }) => resource === 'tasks')
    expect(newTasks).to.have.length(tasks.length)
    for (const { object } of newTasks) expect(newProjects).to.include(object.projectId)

    // Tasks before their projects: nothing is guessed.
    const turned = [...tasks, ...projects, { end: { objects: projects.length + tasks.length } }]
    await writeFile(`${server.folder}/turned.ndjson`, turned.map((row) => JSON.stringify(row)).join('\n'))
    const refused = await data(['import', 'turned.ndjson', '--as', 'alice', '--format', 'json'], place)
    expect(refused.code).to.equal(1)
    expect((JSON.parse(refused.stdout) as ImportReport).refusedLines[0]?.why).to.match(
      /^`projectId` names the object of line \d+: move that line before this one$/,
    )
    await server.stop()
  })
})
