/** A server answers the counterexample of each broken guarantee as `policy check` tells it. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { FileError } from '../../../src/base/diagnostic.ts'
import type { Caller } from '../../../src/decide/caller.ts'
import { issueToken } from '../../../src/identity/tokens/issue-token.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { documentPart } from '../../../src/resources/object.ts'
import type { Representation, Resources } from '../../../src/resources/resource.ts'
import { type Counterexample, Counterexamples } from '../../../src/tools/guarantees/counterexample.ts'
import { type LoadedPolicy, loadPolicy } from '../../../src/tools/load-policy.ts'
import { CALLER, withUniqueValues } from '../../../src/tools/matrix/fixture/samples.ts'
import { PROJECT_FILES } from '../../matrix/projects.ts'
import { terms } from '../../policy/arbitrary-language.ts'
import { drawing, runs } from '../../runs.ts'
import { startTestServer, type TestServer } from '../../server.ts'

const WRITES = ['replace', 'update']
const ACTIONS = ['list', 'read', 'create', 'delete', ...WRITES]

/** The text of a guarantees.yaml with one guarantee, perhaps a mistaken one. */
function randomText(loaded: LoadedPolicy, { byName }: Resources): fc.Arbitrary<string> {
  const { policy } = loaded
  const roles = [...policy.roles.keys()]
  return fc.constantFrom(...[...byName.values()].filter(({ builtIn }) => !builtIn)).chain((resource) => {
    const relations = [...(policy.ownership.get(resource.name)?.relations.keys() ?? [])]
    const writable = [...resource.fields.values()].filter(({ readOnly }) => !readOnly).map(({ name }) => name)
    return fc
      .record({
        kind: fc.constantFrom('never', 'never', 'always'),
        subjects: fc.option(
          fc.oneof(
            fc.uniqueArray(fc.constantFrom(...roles), { minLength: 1, maxLength: 2 }).map((except) => ({ except })),
            fc.uniqueArray(fc.constantFrom(...roles, 'anonymous', 'everyone'), { minLength: 1, maxLength: 1 }),
          ),
        ),
        actions: fc.subarray(ACTIONS, { minLength: 1, maxLength: 1 }),
        fields: fc.option(fc.subarray(writable, { minLength: 1, maxLength: 1 })),
        left: terms([...relations, ...policy.conditions.keys()], 2),
        right: fc.option(terms(relations, 2)),
      })
      .map(({ kind, subjects, actions, fields, left, right }) => {
        const side = (names: readonly string[]) => names.join('+') || 'any'
        const column = right !== null && WRITES.includes(actions[0] ?? '') ? `${side(left)}>${side(right)}` : side(left)
        const word = kind === 'never' ? 'unless' : 'when'
        const claim = {
          ...(subjects && { subjects }),
          resource: resource.name,
          actions,
          ...(fields && !actions.includes('delete') && { fields }),
          ...(column !== 'any' && { [word]: column }),
        }
        return stringify([{ name: 'drawn', [kind]: claim }])
      })
  })
}

/** The first counterexample; `kind` is that of the answer. */
async function exampleOf(text: string, { files }: LoadedPolicy, resources: Resources) {
  const now = Date.now()
  const policy = parsePolicy({ ...files, 'guarantees.yaml': { name: 'guarantees.yaml', text } }, resources)
  const [guarantee] = policy.guarantees
  const answer = guarantee && new Prover(policy, resources, now).answer(guarantee)
  if (answer?.kind !== 'broken') return { kind: 'kept' } as const
  const examples = new Counterexamples(policy, resources, now)
  for (const shown of answer.breaks()) {
    const example = await examples.find(shown)
    if (example) return { kind: 'broken', shown, example } as const
  }
  return { kind: 'unshown' } as const
}

/** The times and credentials that this test can send. */
function isSendable({ facts, caller }: Counterexample): boolean {
  return (
    Math.abs(facts.now - Date.now()) < 60_000 && !caller?.credential?.startsWith('key') && caller?.acr === undefined
  )
}

/** Each example has objects of its own. */
function withFreshIds<T>(value: T): T {
  const [stem, fresh] = [CALLER.slice(0, 24), randomBytes(12).toString('hex')]
  const id = `${fresh.slice(0, 8)}-${fresh.slice(8, 12)}-7${fresh.slice(12, 15)}-8${fresh.slice(15, 18)}-`
  return JSON.parse(JSON.stringify(value).replaceAll(stem, id))
}

async function send(server: TestServer, given: Counterexample, name: string) {
  const { app } = server
  const { before, others, caller, facts, method, path, isConditional, body } = withFreshIds(given)
  const insert = async (resource: string, object: Representation) => {
    const declared = app.resources.byName.get(resource)
    if (!declared) throw new Error(`there is no resource ${resource}`)
    const { id, ...own } = withUniqueValues(declared, object, new Set(['id']))
    await app.seeding.insert(resource, [{ id: String(id), document: documentPart(own) }])
  }
  if (before) await insert(name, before)
  for (const one of others) await insert(one.resource, one.object)
  const declared = app.resources.byName.get(name)
  const sent = body && declared ? withUniqueValues(declared, body, new Set()) : body
  const token = caller && (await tokenOf(server, caller))
  return server.ask(method, path, {
    token,
    body: sent,
    headers: { ...(isConditional && { 'if-match': '*' }), ...(facts.address && { 'x-forwarded-for': facts.address }) },
  })
}

async function tokenOf({ app }: TestServer, { id, roles, claims, authTime }: Caller): Promise<string> {
  if (!app.keys) throw new Error('this server signs nothing')
  const about = { issuer: 'sallyport', audience: 'sallyport', lifetimeSeconds: 600 }
  return issueToken(app.keys.signer(), { ...about, subject: id, roles, claims, authTime })
}

for (const [name, files] of Object.entries({ shipped: {}, 'with members': PROJECT_FILES })) {
  describe(`the counterexamples of random guarantees about the policy ${name}`, () => {
    let server: TestServer
    let loaded: LoadedPolicy
    before(async () => {
      server = await startTestServer({ files, env: { TRUST_PROXY: '127.0.0.1/32' } })
      loaded = await loadPolicy(`${server.folder}/policies`, server.app.resources)
    })
    after(() => server.stop())

    it('are answered by a server as they are told', async () => {
      const { resources } = server.app
      const counts = { sent: 0, never: 0, unshown: 0 }
      const property = fc.asyncProperty(randomText(loaded, resources), async (text) => {
        const found = await exampleOf(text, loaded, resources).catch((error) => {
          if (error instanceof FileError) return { kind: 'mistaken' } as const
          throw error
        })
        if (found.kind === 'unshown') counts.unshown++
        if (found.kind !== 'broken' || !isSendable(found.example)) return
        const { shown, example } = found
        const isNever = shown.act.kind === 'never'
        counts.sent++
        if (isNever) counts.never++
        const answer = await send(server, example, shown.resource.name)
        expect(answer.status, `${text}\n${JSON.stringify(example)}\n${answer.text}`).to.equal(example.status)
        if (isNever) expect(answer.status).to.be.lessThan(300)
      })
      await drawing(
        () => fc.assert(property, { numRuns: runs(300) }),
        () => expect(Math.min(counts.never, counts.sent - counts.never)).to.be.greaterThan(0),
      )
      expect(counts.unshown).to.be.lessThan(counts.sent)
    }).timeout(300_000)

    it('are sent so that a server whose policy differs is found out', async () => {
      const { resources } = server.app
      const { name, text } = loaded.files['policy.csv']
      const files = {
        ...loaded.files,
        'policy.csv': { name, text: `p, everyone, users, delete, any, *, allow\n${text}` },
      }
      const promised =
        '- name: nobody leaves\n  never: { subjects: { except: [admin] }, resource: users, actions: [delete] }\n'
      const found = await exampleOf(promised, { ...loaded, files }, resources)
      if (found.kind !== 'broken') throw new Error('the added line breaks it')
      expect(found.example.status).to.be.lessThan(300)
      expect((await send(server, found.example, 'users')).status).to.be.oneOf([401, 403])
    })
  })
}
