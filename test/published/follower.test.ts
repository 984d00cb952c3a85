/** While the rules of a version are parsed for long, blocks count at once; the age of the policy holds by both clocks. */
import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { PolicyEvent } from '../../src/policy/live/active-policy.ts'
import { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { type PolicyFiles, readPolicyFiles, revisionOf } from '../../src/policy/policy-files.ts'
import { PublishedSource } from '../../src/policy/published/published-source.ts'
import { digestOfText, signVersion } from '../../src/policy/published/signed-version.ts'
import type { VersionReader } from '../../src/policy/published/version-chain.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { VersionFollower } from '../../src/server/policy-changes/follow-versions.ts'
import { withRules } from '../policy-text.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('an instance that follows versions', () => {
  let versions: MemoryVersions
  let policy: LivePolicy
  let follower: VersionFollower
  let parsing: PromiseWithResolvers<void>
  let parse: PromiseWithResolvers<void>
  let now: number
  let events: PolicyEvent[]
  let numbers: number[]

  beforeEach(async () => {
    versions = new MemoryVersions()
    await versions.publish()
    parsing = Promise.withResolvers()
    parse = Promise.withResolvers()
    now = Date.now()
    events = []
    numbers = []
    const reached = (sequence: number) => numbers.push(sequence)
    const resources = await loadResources(`${ROOT}schemas`)
    const source = new PublishedSource(versions, {
      keys: versions.keys,
      judge: () => Promise.reject(new Error('nothing was approved')),
      now: Date.now,
    })
    await source.look()
    policy = await LivePolicy.open({
      source,
      resources,
      observe: (event) => events.push(event),
      parse: async (files) => {
        parsing.resolve()
        await parse.promise
        return packPolicy(parsePolicy(files, resources))
      },
    })
    follower = new VersionFollower({ policy, source, maxAgeMs: 60_000, now: () => now, reached, report: () => {} })
  })
  afterEach(() => {
    follower.close()
    parse.resolve()
  })

  it('takes a version that changes only blocks as a whole, and tells its number', async () => {
    await versions.publish({ blocked: 'user:mallory\n' })
    await until(() => policy.active.sequence === 2)
    expect(policy.active.blocked.has('mallory')).to.equal(true)
    const told = events.map((event) => [event.kind, event.kind === 'activated' && event.sequence])
    expect([told, numbers.at(-1)]).to.deep.equal([[['activated', 2]], 2])
  })

  it('tells the number of a version that changes nothing, so that no older one is taken after a restart', async () => {
    parse.resolve()
    await versions.publish({ rules: 'x, nothing\n', blocked: 'user:mallory\n' })
    await until(() => policy.faults.length > 0)
    expect([policy.active.blocked.has('mallory'), numbers.at(-1)]).to.deep.equal([true, 1])
    await versions.publish({ blocked: 'user:mallory\n' })
    await until(() => numbers.at(-1) === 3)
    expect(events.filter(({ kind }) => kind === 'activated')).to.have.length(1)
  })

  it('blocks a user while rules are parsed, and has the last version when they are', async () => {
    const { snapshot } = policy.active
    await versions.publish({ rules: '# many more\n' })
    await parsing.promise
    await versions.publish({ rules: '# many more\n', blocked: 'user:mallory\n' })
    await until(() => policy.active.blocked.has('mallory'))
    expect(policy.active.snapshot).to.equal(snapshot)
    expect(policy.active.sequence).to.equal(1)
    await versions.publish({ rules: '# even more\n', blocked: 'user:mallory\n' })
    parse.resolve()
    await until(() => policy.active.sequence === 4)
    expect(policy.active.snapshot).not.to.equal(snapshot)
    expect(policy.active.blocked.has('mallory')).to.equal(true)
    expect(policy.active.revision).to.equal(versions.revision)
  })

  it('has lost the versions by its own clock, even if the clock of the system is set back', async () => {
    versions.fails = true
    await until(() => follower.state(now) === 'lost')
    now -= 60 * 60_000
    const age = follower.ageMs(now)
    await sleep(50)
    expect(follower.ageMs(now)).to.be.within(age + 40, 30_000)
    expect(follower.state(now + 2 * 60 * 60_000)).to.equal('expired')
    versions.fails = false
    await until(() => follower.state(now) === 'answers')
  })

  it('counts a question that is never answered as a loss', async () => {
    versions.hangs = true
    await until(() => follower.state(now) === 'lost')
    expect(policy.active.sequence).to.equal(1)
  })
})

interface Changed {
  /** Added to policy.csv. */
  readonly rules?: string
  readonly blocked?: string
}

/** The last version of a policy, in memory. */
class MemoryVersions implements VersionReader {
  readonly #pair = generateKeyPairSync('ed25519')
  readonly #signed: string[] = []
  readonly #files = new Map<string, string>()
  readonly keys = new Map([['k', this.#pair.publicKey]])
  revision = ''
  fails = false
  hangs = false

  async publish({ rules = '', blocked = '' }: Changed = {}): Promise<void> {
    const shipped = await readPolicyFiles(`${ROOT}policies`)
    const csv = { ...shipped['policy.csv'], text: withRules(shipped['policy.csv'].text, rules || '# none\n') }
    const files: PolicyFiles = { ...shipped, 'policy.csv': csv }
    const texts = [...Object.entries(files).map(([name, { text }]) => [name, text]), ['blocked.txt', blocked]] as const
    for (const [, text = ''] of texts) this.#files.set(digestOfText(text), text)
    const revision = revisionOf(files, { name: 'blocked.txt', text: blocked })
    const version = {
      number: this.#signed.length + 1,
      database: 'memory',
      revision,
      time: '2027-01-01T00:00:00.000Z',
      user: 'somebody',
      kind: 'applied' as const,
      digest: '',
      files: Object.fromEntries(texts.map(([name, text = '']) => [name, digestOfText(text)])),
    }
    this.#signed.push(await signVersion(version, { kid: 'k', privateKey: this.#pair.privateKey }))
    this.revision = revision
  }

  async home() {
    return { id: 'memory', former: [] }
  }

  async get(number: number) {
    return this.#signed[number - 1]
  }

  async last(): Promise<{ number: number; signed: string } | undefined> {
    if (this.hangs) await new Promise(() => {})
    if (this.fails) throw new Error('no answer')
    const signed = this.#signed.at(-1)
    return signed === undefined ? undefined : { number: this.#signed.length, signed }
  }

  async file(digest: string): Promise<string | undefined> {
    return this.#files.get(digest)
  }
}
