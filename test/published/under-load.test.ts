/** A published version is in force within a second, also while an instance is asked as much as it can answer. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type pg from 'pg'
import { withDatabase } from '../../bench/fixture/environment.ts'
import { endWithTests } from '../ends-with-tests.ts'
import { runCommand, type ServerProcess, startServer } from '../identity/processes.ts'
import { program } from '../programs.ts'
import { createSchema, type TestSchema } from '../store/postgres-schemas.ts'
import { PublishedPolicies } from './fixture.ts'

const PROMISED_MS = 1000
/** An activation needs the event loop and the database several times, and each request needs them too. */
const ANSWERS = 5
const ROUNDS = 4

interface Activation {
  readonly tookMs: number
  /** Of the requests meanwhile, the slowest. */
  readonly slowestMs: number
}

describe('an instance that is busy with requests', () => {
  let schema: TestSchema
  let published: PublishedPolicies
  let server: ServerProcess
  let load: ChildProcess
  let headers: Readonly<Record<string, string>>
  let direct: pg.Client

  before(async () => {
    program('wrk')
    schema = await createSchema()
    direct = await schema.raw()
    published = await PublishedPolicies.make(schema.url)
    await published.publish()
    const folder = join(published.root, 'data')
    const env = published.environment(withDatabase(schema.url))
    server = await startServer(folder, env)
    const { stdout } = await runCommand(folder, ['token', '--subject', 'zed', '--role', 'member'], env)
    headers = { authorization: `Bearer ${stdout.trim()}` }
    const args = ['-t1', '-c64', '-d600s', '-H', `Authorization: ${headers.authorization}`]
    load = endWithTests(spawn(program('wrk'), [...args, `${server.url}/api/v1/notes`], { stdio: 'ignore' }))
  })
  after(async () => {
    load?.kill('SIGKILL')
    await server?.stop()
    await published?.remove()
    await schema?.remove()
  })

  async function ask() {
    const sentAt = performance.now()
    const answer = await fetch(`${server.url}/api/v1/notes`, { headers })
    await answer.arrayBuffer()
    expect(answer.status).to.equal(200)
    return { sequence: Number(answer.headers.get('policy-sequence')), tookMs: performance.now() - sentAt }
  }

  /** From now until an answer has the version. */
  async function activationOf(number: number): Promise<Activation> {
    const publishedAt = performance.now()
    let slowestMs = 0
    for (;;) {
      const { sequence, tookMs } = await ask()
      slowestMs = Math.max(slowestMs, tookMs)
      if (sequence >= number) return { tookMs: performance.now() - publishedAt, slowestMs }
      await sleep(5)
    }
  }

  const isLate = ({ tookMs, slowestMs }: Activation) => tookMs > PROMISED_MS + ANSWERS * slowestMs

  it('has each version in force, and each block', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const number = await published.publish(`# ${round}\n`)
      const rules = await activationOf(number)
      expect(isLate(rules), JSON.stringify(rules)).to.equal(false)
      await published.block(`user-${round}`)
      const block = await activationOf(number + 1)
      expect(isLate(block), JSON.stringify(block)).to.equal(false)
    }
  })

  it('would be found out if it were late: here somebody locks the files of the version', async () => {
    const found = async (round: number) => {
      const number = await published.publish(`# locked ${round}\n`)
      await direct.query('begin; lock table policy_files in access exclusive mode')
      const activation = activationOf(number)
      await sleep(4 * PROMISED_MS)
      await direct.query('commit')
      return isLate(await activation)
    }
    // A look may be faster than the lock.
    for (let round = 0; round < 5; round += 1) if (await found(round)) return
    expect.fail('it was not found out')
  })
})
