/** The commands of a counterexample do as they are printed what `policy check` tells of them. */
import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { issueToken } from '../../../src/identity/tokens/issue-token.ts'
import { documentPart } from '../../../src/resources/object.ts'
import type { Representation } from '../../../src/resources/resource.ts'
import { ROOT, sallyport } from '../../command.ts'
import { withRules } from '../../policy-text.ts'
import { startTestServer, type TestServer } from '../../server.ts'

const shell = async (script: string, env: Record<string, string> = {}) =>
  (await promisify(execFile)('sh', ['-c', script], { env: { ...process.env, ...env } })).stdout

interface Told {
  readonly caller: { readonly id: string; readonly roles: readonly string[]; readonly attributes: object } | null
  readonly before: Representation | null
  readonly after: Representation | null
  readonly others: readonly { readonly resource: string; readonly object: Representation }[]
  readonly status: number
  readonly explain: string
  readonly curl: string
  readonly next?: Told
}

/** Each breaks the shipped policy with `RULES`; the policy allows what `never` and `apart` forbid. */
const BROKEN: Readonly<Record<string, string>> = {
  'an update by a role': 'never: { resource: notes, actions: [update], unless: owner }',
  'a replacement by a role': 'never: { resource: notes, actions: [replace], unless: owner }',
  'a removal by a user': 'never: { subjects: { except: [admin] }, resource: notes, actions: [delete], unless: owner }',
  'a creation without credentials': 'never: { subjects: [anonymous], resource: notes, actions: [create] }',
  'a read without credentials': 'never: { subjects: [anonymous], resource: notes, actions: [read] }',
  'a list': 'never: { resource: accounts, actions: [list], fields: [balance], unless: owner }',
  'a step': 'never: { subjects: [support], resource: orders, actions: [update], unless: draft>draft }',
  'what is always allowed, and is denied': 'always: { subjects: [member], resource: accounts, actions: [read] }',
  'two acts of one caller':
    'apart: [{ resource: orders, actions: [update], when: draft>placed }, { resource: orders, actions: [update], when: placed>shipped }]',
}
const RULES = `p, support, notes, update|replace, any, *, allow
p, user:o'brien $(id), notes, delete, any, *, allow
p, anonymous, notes, create|read, any, *, allow`

describe('a counterexample, as it is printed', () => {
  let server: TestServer
  let told: readonly (readonly [string, Told])[]
  before(async () => {
    const shipped = await readFile(join(ROOT, 'policies/policy.csv'), 'utf8')
    const files = { 'policies/policy.csv': withRules(shipped, RULES), 'policies/guarantees.yaml': '[]\n' }
    server = await startTestServer({ files, uncheckedBecause: 'the policy breaks what a test wants to break' })
    const checked = join(server.folder, 'checked')
    await cp(join(server.folder, 'policies'), checked, { recursive: true })
    const text = Object.entries(BROKEN).map(([name, said]) => `- name: ${name}\n  ${said}\n`)
    await writeFile(join(checked, 'guarantees.yaml'), text.join(''))
    const { stdout } = await sallyport(['policy', 'check', 'checked', '--format', 'json'], { cwd: server.folder })
    const { guarantees } = JSON.parse(stdout)
    told = guarantees.map((one: { name: string; counterexample: Told }) => [one.name, one.counterexample])
  })
  after(() => server.stop())

  async function place(resource: string, { id, ...own }: Representation): Promise<void> {
    const document = documentPart(own)
    const stored = await server.app.store.get(resource, String(id))
    if (stored) await server.app.seeding.replace(resource, { id: String(id), version: stored.version, document })
    else await server.app.seeding.insert(resource, [{ id: String(id), document }])
  }

  async function tokenOf({ id, roles, attributes }: NonNullable<Told['caller']>): Promise<string> {
    if (!server.app.keys) throw new Error('this server signs nothing')
    const about = { issuer: 'sallyport', audience: 'sallyport', lifetimeSeconds: 600 }
    return issueToken(server.app.keys.signer(), { ...about, subject: id, roles, claims: { ...attributes } })
  }

  /** One, or two of an `apart`. */
  const requestsOf = (name: string): readonly Told[] => {
    const [, first] = told.find(([one]) => one === name) ?? []
    return [first, first?.next].filter((one) => one !== undefined)
  }

  /** The status that the command gets. */
  async function sent({ caller, before: object, others, curl }: Told): Promise<number> {
    const resource = /\/(notes|accounts|orders)\b/.exec(curl)?.[1] ?? ''
    if (object) await place(resource, object)
    for (const one of others) await place(one.resource, one.object)
    const command = curl
      .replace('http://127.0.0.1:3000', server.url)
      .replace(/^curl/, "curl -s -o /dev/null -w '%{http_code}'")
    return Number(await shell(command, caller ? { TOKEN: await tokenOf(caller) } : {}))
  }

  it('is one for each of these guarantees', () => {
    expect(told.map(([name, one]) => [name, one !== undefined])).to.deep.equal(
      Object.keys(BROKEN).map((name) => [name, true]),
    )
    expect(told.flatMap(([, one]) => (one.next ? [one.next.status] : []))).to.deep.equal([200])
  })

  for (const name of Object.keys(BROKEN)) {
    it(`has commands that answer as told: ${name}`, async () => {
      for (const one of requestsOf(name)) {
        expect(await sent(one), one.curl).to.equal(one.status)
        const isAllowed = one.status < 300
        expect(isAllowed, String(one.status)).to.equal(!BROKEN[name]?.startsWith('always'))
        // The words as a shell splits them.
        const words = (await shell(`printf '%s\\n' ${one.explain}`)).split('\n').slice(1, -1)
        const { stdout } = await sallyport(words, { cwd: server.folder })
        expect(stdout, one.explain).to.match(isAllowed ? /^ALLOW {5}/ : /^DENY {6}/)
      }
    })
  }

  it('is sent so that a server which answers otherwise is found out (negative control)', async () => {
    const [first] = requestsOf('an update by a role')
    if (!first?.caller) throw new Error('there is no caller')
    expect(await sent({ ...first, caller: { ...first.caller, roles: [] } })).to.equal(403)
  })
})
