/** A policy that took over is told with its meaning; what goes wrong with that is told too, and holds nothing up. */
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import type { PolicyEvent, PolicySources } from '../../src/policy/live/active-policy.ts'
import { readBlockedFile, readPolicyFiles, revisionOf } from '../../src/policy/policy-files.ts'
import { readSchemas } from '../../src/resources/load/load-resources.ts'
import { Comparer, type ComparerOptions } from '../../src/server/policy-changes/comparer.ts'
import { createPolicyLog } from '../../src/server/policy-changes/policy-log.ts'
import { withRules as withLines } from '../policy-text.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the log of policies that took over', () => {
  let shipped: PolicySources
  let lines: Record<string, unknown>[]

  before(async () => {
    const directory = join(ROOT, 'policies')
    shipped = { files: await readPolicyFiles(directory), blocked: await readBlockedFile(directory) }
  })
  beforeEach(() => {
    lines = []
  })

  it('holds the first sentences, and how many more there are', async () => {
    const many = ['notes', 'orders', 'accounts', 'users'].flatMap((resource) =>
      ['create', 'delete'].map((action) => `p, user:x, ${resource}, ${action}, any, *, allow`),
    )
    await tellAll({}, [taking(shipped, withRules(...many))])
    const [line] = lines
    expect(line).to.include({ msg: 'policy activated', level: 30 })
    const { widening, more, sentences } = line as { widening: number; more: number; sentences: string[] }
    expect(sentences.length).to.be.at.most(5)
    expect(widening).to.equal(sentences.length + more)
    expect(Date.parse(String(line?.tookOver))).to.be.greaterThan(0)
  })

  it('is in the order of taking over, also when so many come that some are not compared', async () => {
    const versions = Array.from({ length: 12 }, (_, i) => withRules(`p, user:x${i}, notes, list, any, *, allow`))
    await tellAll(
      {},
      versions.map((version, i) => taking(versions[i - 1] ?? shipped, version)),
    )
    expect(lines.map(({ revision }) => revision)).to.deep.equal(versions.map(revisionOfSources))
    const uncompared = lines.filter((line) => line.uncompared === 'too many changes at once')
    expect(uncompared.length).to.be.within(1, 9)
    expect(lines.filter((line) => 'widening' in line).length).to.equal(12 - uncompared.length)
  })

  it('says why a change is told without its meaning: a thread that fails', async () => {
    await tellAll({ program: threadOf('throw new Error("no thread")') }, [taking(shipped, withRules())])
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ msg: 'policy activated', level: 40, uncompared: 'no thread' })
  })

  it('says why: a thread that never answers', async () => {
    const program = threadOf('setInterval(() => {}, 1000)')
    await tellAll({ program, patienceMs: 200 }, [taking(shipped, withRules())])
    expect(lines[0]).to.include({ uncompared: 'the comparison took longer than 200 ms', level: 40 })
  })

  it('says why: policies that can not be compared; the next one is compared again', async () => {
    const unfit = withRules('p, nobody-declared-it, notes, list, any, *, allow')
    await tellAll({}, [taking(shipped, unfit), taking(shipped, withRules('p, user:x, notes, list, any, *, allow'))])
    expect(lines[0]?.uncompared).to.match(/policy.csv:\d+:4: .*nobody-declared-it/)
    expect(lines[1]).to.include({ widening: 1, level: 30 })
  })

  it('shares one thread with other questions, each of which waits for its turn and gets its own answer', async () => {
    const echo = `import { parentPort } from 'node:worker_threads'
      let asked = 0
      parentPort.on('message', () => {
        const counts = { widening: ++asked }
        setTimeout(() => parentPort.postMessage({ kind: 'compared', summary: { counts, sentences: [], more: 0 } }), 200)
      })`
    const comparer = new Comparer({ schemas: [], program: threadOf(echo), patienceMs: 350 })
    const answers = await Promise.all([1, 2, 3].map(() => comparer.compare({ before: shipped, after: shipped })))
    expect(answers.map(({ counts }) => counts.widening)).to.deep.equal([1, 2, 3])
    await comparer.end()
  })

  it('is whole when the server closes at once', async () => {
    const policyLog = await openPolicyLog({})
    policyLog.report(taking(shipped, withRules('p, user:x, notes, list, any, *, allow')))
    await policyLog.close()
    expect(lines.map(({ msg }) => msg)).to.deep.equal(['policy activated'])
  })

  async function openPolicyLog(options: Partial<ComparerOptions>) {
    const { sources } = await readSchemas(join(ROOT, 'schemas'))
    const comparer = new Comparer({ schemas: sources, ...options })
    return createPolicyLog(pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }), comparer)
  }

  async function tellAll(options: Partial<ComparerOptions>, events: readonly PolicyEvent[]): Promise<void> {
    const policyLog = await openPolicyLog(options)
    for (const event of events) policyLog.report(event)
    await until(() => lines.length >= events.length)
    await policyLog.close()
  }

  function withRules(...rules: readonly string[]): PolicySources {
    const { name, text } = shipped.files['policy.csv']
    const csv = { name, text: withLines(text, [...rules, '# changed'].join('\n')) }
    return { ...shipped, files: { ...shipped.files, 'policy.csv': csv } }
  }
})

function taking(before: PolicySources, after: PolicySources): PolicyEvent {
  return { kind: 'activated', revision: revisionOfSources(after), previous: revisionOfSources(before), before, after }
}

function revisionOfSources({ files, blocked }: PolicySources) {
  return revisionOf(files, blocked)
}

function threadOf(program: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(program)}`)
}
