/** `access report` for hundreds of people and 10,000 objects takes seconds, and at most 500 MB. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { LAUNCHER } from '../command.ts'
import { ENGINES } from '../data/each-engine.ts'

const PEOPLE = 300
const OBJECTS = 10_000
/** Ten times as long as it takes. */
const MOST_MS = 60_000
const MOST_MEGABYTES = 500
const AT_ONCE = 10_000

interface Measured {
  readonly lines: number
  readonly milliseconds: number
  readonly megabytes: number
}

async function measure(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Measured> {
  const begun = performance.now()
  const child = spawn(process.execPath, [LAUNCHER, ...args], { env: { ...process.env, ...env } })
  let lines = 0
  let most = 0
  let problem = ''
  child.stdout.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines += 1
  })
  child.stderr.on('data', (chunk: Buffer) => {
    problem += chunk
  })
  const timer = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    most = Math.max(most, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024)
  }, 50)
  const [code] = await once(child, 'close')
  clearInterval(timer)
  expect(code, problem).to.equal(0)
  return { lines, milliseconds: performance.now() - begun, megabytes: most }
}

for (const [name, onEngine] of ENGINES) {
  describe(`access report for ${PEOPLE} people and ${OBJECTS} objects on ${name}`, () => {
    it(`takes at most ${MOST_MS / 1000} s and ${MOST_MEGABYTES} MB`, async function () {
      this.timeout(120_000)
      const on = await onEngine({ uncheckedBecause: 'only commands ask' })
      try {
        const { seeding } = on.server.app
        const person = (i: number) => ({
          id: `p${i}`,
          document: {
            email: `p${i}@example.com`,
            displayName: `P ${i}`,
            roles: [i % 100 === 0 ? 'support' : 'member'],
          },
        })
        for (let i = 0; i < PEOPLE; i += AT_ONCE) {
          const some = Array.from({ length: Math.min(AT_ONCE, PEOPLE - i) }, (_, n) => person(i + n))
          await seeding.insert('users', some)
        }
        const order = (i: number) => ({
          id: `o${i}`,
          document: { customerId: `p${i % PEOPLE}`, status: i % 3 === 0 ? 'draft' : 'placed', currency: 'EUR' },
        })
        for (let i = 0; i < OBJECTS; i += AT_ONCE) {
          const some = Array.from({ length: Math.min(AT_ONCE, OBJECTS - i) }, (_, n) => order(i + n))
          await seeding.insert('orders', some)
        }
        const { lines, milliseconds, megabytes } = await measure(['access', 'report'], on.env)
        expect(lines).to.be.greaterThan(5 * PEOPLE)
        const figures = `${Math.round(milliseconds)} ms, ${Math.round(megabytes)} MB`
        expect(milliseconds, figures).to.be.at.most(MOST_MS)
        expect(megabytes, figures).to.be.at.most(MOST_MEGABYTES)
      } finally {
        await on.stop()
      }
    })
  })
}
