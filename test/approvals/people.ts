/** People who propose and approve policies in tests, with their keys, and a published policy that asks for them. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { personKey } from '../../src/policy/parse/person-key.ts'
import type { PersonSigner } from '../../src/policy/published/signed-by-person.ts'
import { addRules } from '../policy-text.ts'
import { PublishedPolicies } from '../published/fixture.ts'
import { type Ended, policy } from '../release/command.ts'

export class Person implements PersonSigner {
  readonly kid: string
  /** For approvals.yaml. */
  readonly publicKey: string
  readonly pem: string
  /** Another key of the same person. */
  readonly second: Person | undefined
  readonly #key: KeyObject

  constructor(keys: 1 | 2 = 1) {
    this.second = keys === 2 ? new Person() : undefined
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    this.#key = privateKey
    this.kid = personKey(publicKey.export({ format: 'jwk' }).x ?? '').kid
    this.publicKey = publicKey.export({ format: 'pem', type: 'spki' }).toString()
    this.pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  }

  async sign(bytes: Uint8Array): Promise<Uint8Array> {
    return sign(null, bytes, this.#key)
  }
}

/** In the group of security: ada, zoe and tim. In that of orders: zoe and kim. */
const GROUPS = { ada: ['security'], zoe: ['security', 'orders'], tim: ['security'], kim: ['orders'] } as const
/** Where the id of the caller isn't the name. */
const USERS: Readonly<Record<string, string>> = { tim: ', user: u-17' }
export type Name = keyof typeof GROUPS

const NEEDS = `needs:
  widens: { people: 2, from: [security] }
  narrows: { people: 1 }
  blocks: { people: 1 }
  touches:
    - { resource: orders, people: 1, from: [orders] }
    - { file: [approvals.yaml, guarantees.yaml], people: 2, from: [security] }
`

export type People = Readonly<Record<Name, Person>>

export function makePeople(): People {
  return { ada: new Person(), zoe: new Person(2), tim: new Person(), kim: new Person() }
}

export function approvalsText(people: Readonly<Record<string, Person>>, needs = NEEDS): string {
  const groups: Readonly<Record<string, readonly string[]>> = GROUPS
  const lines = Object.entries(people).map(([name, { publicKey, second }]) => {
    const keys = [publicKey, ...(second ? [second.publicKey] : [])]
    return `  ${name}: { keys: ${JSON.stringify(keys)}, groups: [${(groups[name] ?? []).join(', ')}]${USERS[name] ?? ''} }\n`
  })
  return `people:\n${lines.join('')}${needs}`
}

export class ApprovedPolicies {
  readonly published: PublishedPolicies
  readonly people: People

  private constructor(published: PublishedPolicies, people: People) {
    this.published = published
    this.people = people
  }

  /** The first version, with approvals.yaml and further lines in policy.csv, is published. */
  static async make(url?: string, needs = NEEDS, lines = ''): Promise<ApprovedPolicies> {
    const published = await PublishedPolicies.make(url)
    const approved = new ApprovedPolicies(published, makePeople())
    for (const [name, person] of Object.entries(approved.people)) {
      await writeFile(join(published.root, `${name}.pem`), person.pem, { mode: 0o600 })
    }
    await writeFile(join(published.folder, 'approvals.yaml'), approvalsText(approved.people, needs))
    await published.publish(lines)
    return approved
  }

  keyOf(name: Name): string {
    return join(this.published.root, `${name}.pem`)
  }

  /** A copy of the policy with further lines in policy.csv. */
  async folderWith(name: string, lines: string): Promise<string> {
    const folder = join(this.published.root, name)
    await cp(this.published.folder, folder, { recursive: true })
    if (lines !== '') await addRules(join(folder, 'policy.csv'), lines)
    return folder
  }

  /** Of commands: without a key that publishes. */
  environment(env: Record<string, string> = {}): Record<string, string> {
    return { ...this.published.environment(), DATA_DIR: join(this.published.root, 'publisher'), ...env }
  }

  /** `sallyport policy …` */
  run(...args: readonly string[]): Promise<Ended> {
    return policy(args, this.environment())
  }

  /** The same with the key of a person. */
  as(name: Name, ...args: readonly string[]): Promise<Ended> {
    return this.run(...args, '--key', this.keyOf(name))
  }

  remove(): Promise<void> {
    return this.published.remove()
  }
}
