/** A large policy is parsed in a thread: the same policy, the same faults, and the event loop goes on meanwhile. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { FileError } from '../../src/base/diagnostic.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { END } from '../../src/policy/parse/rule-lines.ts'
import { type PolicyFiles, readPolicyFiles } from '../../src/policy/policy-files.ts'
import { parseResources, readSchemas } from '../../src/resources/load/load-resources.ts'
import { createPolicyParser, type ParserOptions } from '../../src/server/policy-changes/parse-apart.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const SUBJECTS = 2000

function largeRules(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => {
    const action = ['read', 'list', 'update', 'delete', 'replace'][Math.floor(i / SUBJECTS)]
    return `p, user:u${i % SUBJECTS}, notes, ${action}, any, *, ${i % 2 ? 'deny' : 'allow'}`
  })
  return `${lines.join('\n')}\n`
}

describe('a large policy', () => {
  let options: ParserOptions
  let large: PolicyFiles

  before(async () => {
    const schemas = (await readSchemas(join(ROOT, 'schemas'))).sources
    options = { schemas, resources: parseResources(schemas) }
    const files = await readPolicyFiles(join(ROOT, 'policies'))
    const rules = files['policy.csv']
    large = { ...files, 'policy.csv': { ...rules, text: withRules(rules.text, largeRules(10_000)) } }
  })

  it('is the same as one that is parsed at once', async () => {
    expect(await createPolicyParser(options)(large)).to.deep.equal(packPolicy(parsePolicy(large, options.resources)))
  })

  it('has the same faults, with their places', async () => {
    const rules = large['policy.csv']
    const faulty = {
      ...large,
      'policy.csv': { ...rules, text: withRules(rules.text, 'p, nobody, notes, read, any, *, allow') },
    }
    const error = await Promise.resolve(createPolicyParser(options)(faulty)).catch((thrown) => thrown)
    expect(error).to.be.instanceOf(FileError)
    expect(error.diagnostics).to.have.length(1)
    expect(error.diagnostics[0]).to.include({ code: 'unknown-role', column: 4 })
  })

  it('has the fault of a constant that no object can have, which takes a validator', async () => {
    const { 'ownership.yaml': ownership } = large
    const text = ownership.text.replace('[draft]', '[drafted]')
    const faulty = { ...large, 'ownership.yaml': { ...ownership, text } }
    const error = await Promise.resolve(createPolicyParser(options)(faulty)).catch((thrown) => thrown)
    expect(error.diagnostics).to.deep.equal(faultsOf(() => parsePolicy(faulty, options.resources)))
    expect(error.diagnostics[0]).to.include({ code: 'constant-type' })
  })

  it('does not stop the event loop, as parsing it at once does', async () => {
    const apart = await longestStall(() => createPolicyParser(options)(large))
    const atOnce = await longestStall(() => parsePolicy(large, options.resources))
    expect(apart).to.be.below(atOnce / 2)
  })

  it('is parsed here when the thread fails', async () => {
    const program = pathToFileURL(join(ROOT, 'test/activation/no-such-thread.ts'))
    const policy = await createPolicyParser({ ...options, program })(large)
    expect(policy.table.lines.length).to.be.greaterThan(10_000)
  })

  it('a small one needs no thread', async () => {
    const program = pathToFileURL(join(ROOT, 'test/activation/no-such-thread.ts'))
    const { 'guarantees.yaml': _, ...files } = await readPolicyFiles(join(ROOT, 'policies'))
    const policy = createPolicyParser({ ...options, program })(files)
    expect(policy).to.not.be.instanceOf(Promise)
  })
})

describe('the thread that parses large policies', () => {
  const started: Worker[] = []
  const note = (worker: Worker) => started.push(worker)
  let options: ParserOptions
  let one: PolicyFiles
  let other: PolicyFiles

  before(async () => {
    const schemas = (await readSchemas(join(ROOT, 'schemas'))).sources
    options = { schemas, resources: parseResources(schemas) }
    const files = await readPolicyFiles(join(ROOT, 'policies'))
    const withMany = (count: number): PolicyFiles => {
      const rules = files['policy.csv']
      return { ...files, 'policy.csv': { ...rules, text: withRules(rules.text, largeRules(count)) } }
    }
    one = withMany(2000)
    other = withMany(3000)
  })
  beforeEach(() => process.on('worker', note))
  afterEach(async () => {
    process.off('worker', note)
    await Promise.all(started.splice(0).map((worker) => worker.terminate()))
  })

  const parsedHere = (files: PolicyFiles) => packPolicy(parsePolicy(files, options.resources))

  it('parses the next one too, also after one with faults', async () => {
    const parse = createPolicyParser(options)
    const rules = one['policy.csv']
    const faulty = { ...one, 'policy.csv': { ...rules, text: `${rules.text}x\n` } }
    expect(await Promise.resolve(parse(faulty)).catch((error) => error)).to.be.instanceOf(FileError)
    expect(await parse(one)).to.deep.equal(parsedHere(one))
    expect(await parse(other)).to.deep.equal(parsedHere(other))
    expect(started).to.have.length(1)
  })

  it('ends when nothing comes, and the next policy gets another', async () => {
    const parse = createPolicyParser({ ...options, idleMs: 1 })
    await parse(one)
    const [first] = started
    await new Promise((resolve) => first?.once('exit', resolve))
    expect(await parse(other)).to.deep.equal(parsedHere(other))
    expect(started).to.have.length(2)
  })

  it('is replaced when it ended by itself', async () => {
    const parse = createPolicyParser(options)
    await parse(one)
    await started[0]?.terminate()
    expect(await parse(other)).to.deep.equal(parsedHere(other))
    expect(started).to.have.length(2)
  })

  it('is not kept when it ended together with its answer', async () => {
    const program = new URL(
      'data:text/javascript,import { parentPort } from "node:worker_threads";' +
        'parentPort.once("message", () => { parentPort.postMessage({ kind: "policy" }); process.exit() })',
    )
    const parse = createPolicyParser({ ...options, program })
    const first = parse(one)
    // The thread answers and ends meanwhile, so this one hears both in one turn.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    expect(await first).to.deep.equal(parsedHere(one))
    expect(await parse(other)).to.deep.equal(parsedHere(other))
  })

  it('is one of several while policies come at once, and one stays', async () => {
    const parse = createPolicyParser(options)
    const parsed = await Promise.all([parse(one), parse(other)])
    expect(parsed).to.deep.equal([parsedHere(one), parsedHere(other)])
    expect(started).to.have.length(2)
    await Promise.race(started.map((worker) => new Promise((resolve) => worker.once('exit', resolve))))
    await parse(one)
    expect(started).to.have.length(2)
  })
})

describe('a server', () => {
  let server: TestServer
  afterEach(() => server.stop())

  it('takes a large policy over while it runs, whole', async () => {
    server = await startTestServer()
    const file = join(server.folder, 'policies/policy.csv')
    await writeFile(file, `${largeRules(10_000)}p, user:last, notes, list, any, *, allow\n${END}\n`)
    const token = await server.token('last')
    await until(async () => (await server.ask('GET', '/api/v1/notes', { token })).status === 200)
    expect((await server.ask('DELETE', '/api/v1/notes/x', { token: await server.token('u1') })).status).to.equal(403)
  })
})

function faultsOf(parse: () => unknown): unknown {
  try {
    return parse()
  } catch (error) {
    return (error as FileError).diagnostics
  }
}

/** Milliseconds. */
async function longestStall(work: () => unknown): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(20)
  delay.reset()
  // It counts from the second look on.
  await sleep(20)
  await work()
  await sleep(5)
  delay.disable()
  return delay.max / 1e6
}
