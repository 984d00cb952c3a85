/** A database with published policies, which servers of a test share, and the keys that sign them. */
import { generateKeyPairSync } from 'node:crypto'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { withDatabase } from '../../bench/fixture/environment.ts'
import { publicHalf, readPolicySigner } from '../../src/identity/keys/policy-keys.ts'
import { openPolicyVersions, readDatabaseUrl } from '../../src/store/open.ts'
import type { PolicyVersions } from '../../src/store/policy-versions.ts'
import { type PolicyContent, readContent } from '../../src/tools/release/content.ts'
import { openDatabaseTarget } from '../../src/tools/release/database-target.ts'
import type { ReleaseTarget } from '../../src/tools/release/target.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../server.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const FILE = 'data.sqlite'
const NO_LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

export class PublishedPolicies {
  readonly root: string
  readonly #servers: TestServer[] = []

  /** DATABASE_URL. */
  readonly url: string

  private constructor(root: string, url: string) {
    this.root = root
    this.url = url
  }

  /**
   * A folder with the shipped policy, without rate limits, and a database without versions: a file, or that of `url`.
   * Its keys are its own, or those of another one.
   */
  static async make(url?: string, keysOf?: PublishedPolicies): Promise<PublishedPolicies> {
    const root = await mkdtemp(join(tmpdir(), 'sallyport-published-'))
    const published = new PublishedPolicies(root, url ?? `sqlite:${join(root, FILE)}`)
    await cp(join(ROOT, 'policies'), published.folder, { recursive: true })
    await writeFile(join(published.folder, 'limits.yaml'), NO_LIMITS)
    for (const name of ['one', 'two']) {
      if (keysOf) await published.#copyKeys(name, keysOf)
      else await published.#makeKeys(name)
    }
    return published
  }

  get folder(): string {
    return join(this.root, 'policies')
  }

  privateKey(name = 'one'): string {
    return join(this.root, `${name}.pem`)
  }

  publicKey(name = 'one'): string {
    return join(this.root, `${name}.pub.pem`)
  }

  async versions(): Promise<PolicyVersions> {
    const database = readDatabaseUrl(this.url)
    const versions = 'fault' in database ? undefined : await openPolicyVersions(database)
    if (!versions) throw new Error('the database keeps no policies')
    return versions
  }

  /** Signs with a key, and trusts both. */
  async target(key = 'one', over?: number): Promise<ReleaseTarget> {
    const signer = await readPolicySigner(this.privateKey(key))
    const both = await Promise.all(['one', 'two'].map((name) => readPolicySigner(this.privateKey(name))))
    const keys = new Map((await Promise.all(both.map(publicHalf))).flatMap((half) => [...half]))
    return openDatabaseTarget({
      versions: await this.versions(),
      signer,
      keys,
      judge: () => Promise.reject(new Error('nothing was approved')),
      over,
    })
  }

  /** Publishes the shipped policy with further lines in policy.csv, whatever they say. The number of the version. */
  async publish(lines = '', key = 'one'): Promise<number> {
    return this.within(await this.target(key), async (target) => {
      const version = await target.put({ ...change(await this.contentWith(lines)), blocks: [] })
      return version?.number ?? 0
    })
  }

  async contentWith(lines: string): Promise<PolicyContent> {
    const content = await readContent(this.folder)
    const rules = Buffer.from(content.get('policy.csv') ?? []).toString()
    return new Map([...content, ['policy.csv', Buffer.from(lines === '' ? rules : withRules(rules, lines))]])
  }

  async block(id: string): Promise<void> {
    await this.within(await this.target(), (target) =>
      target.block({ id, until: undefined, reason: undefined }, new Date()),
    )
  }

  async within<C extends { close(): Promise<void> }, T>(opening: C | Promise<C>, work: (opened: C) => Promise<T>) {
    const opened = await opening
    try {
      return await work(opened)
    } finally {
      await opened.close()
    }
  }

  /** Changes the file of SQLite as somebody could who may write to it. */
  tamper(sql: string): void {
    const database = new DatabaseSync(join(this.root, FILE))
    try {
      database.exec(sql)
    } finally {
      database.close()
    }
  }

  environment(env: Record<string, string> = {}): Record<string, string> {
    return { POLICIES: 'database:', ...withDatabase(this.url), POLICY_PUBLIC_KEYS: this.publicKey(), ...env }
  }

  async start(env: Record<string, string> = {}, options: TestServerOptions = {}): Promise<TestServer> {
    const server = await startTestServer({ ...options, env: this.environment(env) })
    this.#servers.push(server)
    return server
  }

  /** Stops the servers. */
  async stop(): Promise<void> {
    for (const server of this.#servers.splice(0)) await server.stop()
  }

  async remove(): Promise<void> {
    await this.stop()
    await removeFolder(this.root)
  }

  async #copyKeys(name: string, from: PublishedPolicies): Promise<void> {
    await cp(from.privateKey(name), this.privateKey(name))
    await cp(from.publicKey(name), this.publicKey(name))
  }

  async #makeKeys(name: string): Promise<void> {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    await writeFile(this.privateKey(name), privateKey.export({ format: 'pem', type: 'pkcs8' }))
    await writeFile(this.publicKey(name), publicKey.export({ format: 'pem', type: 'spki' }))
  }
}

function change(content: PolicyContent) {
  const now = new Date()
  return { content, over: '', kind: 'applied', reason: undefined, of: undefined, now, sameRules: false } as const
}

/** The number that a server's answers have. */
export async function sequenceOf({ url }: Pick<TestServer, 'url'>): Promise<number> {
  const { headers } = await fetch(`${url}/livez`)
  return Number(headers.get('policy-sequence'))
}
