/**
 * `policy usage` reads a million records in 30 s of a core, with at most 500 MB: those of a real server, of many people
 * and objects. Soak tries a quarter of them, and all with SOAK_TIMES=4.
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { expect } from 'chai'
import { ROOT } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { measure } from '../measure.ts'
import { soak, times } from '../runs.ts'
import { startTestServer } from '../server.ts'

const RECORDS = soak(times(250_000), 20_000)
const PEOPLE = 10_000
const MOST_MS = Math.max(10_000, 0.03 * RECORDS)
/** For a quarter of the records: some 130, and more if all of them were held. */
const MOST_MEGABYTES = times(1) < 4 ? 250 : 500

/** Each kind of request of the demo: allowed, refused, of a list, of an object, and writes. */
async function recordsOfServer(log: string): Promise<readonly Record<string, unknown>[]> {
  const server = await startTestServer({ demo: true, env: { DECISION_LOG_FILE: log } })
  const people = [
    ['alice', 'member'],
    ['bob', 'member'],
    ['sam', 'support'],
    ['audrey', 'auditor'],
    ['ada', 'admin'],
  ] as const
  for (const [id, role] of people) {
    const token = await server.token(id, role)
    for (const resource of ['orders', 'notes', 'accounts', 'users']) {
      const { body } = await server.ask('GET', `/api/v1/${resource}`, { token })
      for (const { id: object } of body.items?.slice(0, 3) ?? []) {
        await server.ask('GET', `/api/v1/${resource}/${object}`, { token })
        await server.ask('PATCH', `/api/v1/${resource}/${object}`, { token, body: { title: 'x', note: 'x' } })
      }
    }
    await server.ask('POST', '/api/v1/notes', { token, body: { title: 'new' } })
  }
  await server.ask('GET', '/api/v1/orders')
  await server.stop()
  return (await readFile(log, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe(`policy usage of ${RECORDS} records`, () => {
  it(`takes at most ${MOST_MS / 1000} s and ${MOST_MEGABYTES} MB`, async function () {
    this.timeout(600_000)
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    try {
      const kinds = await recordsOfServer(join(folder, 'some.log'))
      expect(kinds).to.have.length.at.least(50)
      const begun = Date.now() - 80 * 86_400_000
      const log = join(folder, 'decisions.log')
      const lines = function* () {
        for (let i = 0; i < RECORDS; i += 1) {
          const { write: _, ...kind } = kinds[i % kinds.length] ?? {}
          const time = new Date(begun + Math.floor((i * 80 * 86_400_000) / RECORDS)).toISOString()
          const who = typeof kind.subject === 'string' ? { subject: `person-${i % PEOPLE}` } : {}
          yield `${JSON.stringify({ ...kind, ...who, time, requestId: `r${i}` })}\n`
        }
      }
      await pipeline(lines, createWriteStream(log))
      const place = { POLICIES: join(ROOT, 'policies'), SCHEMAS: join(ROOT, 'schemas') }
      const { output, cpu, megabytes } = await measure(['policy', 'usage', log, '--since', '90d'], place)
      const figures = `${cpu} ms of a core, ${Math.round(megabytes)} MB`
      const [, decided] = /^(\d+) requests decided again/.exec(output) ?? []
      expect(Number(decided), output.slice(0, 500)).to.be.greaterThan(RECORDS * 0.6)
      expect(cpu, figures).to.be.at.most(MOST_MS)
      expect(megabytes, figures).to.be.at.most(MOST_MEGABYTES)
    } finally {
      await removeFolder(folder)
    }
  })
})
