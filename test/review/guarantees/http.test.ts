/** A server answers the requests of the counterexample of each broken guarantee as `policy check` tells them. */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { FileError } from '../../../src/base/diagnostic.ts'
import type { Caller } from '../../../src/decide/caller.ts'
import { issueToken } from '../../../src/identity/tokens/issue-token.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { documentPart } from '../../../src/resources/object.ts'
import type { Representation, Resource, Resources } from '../../../src/resources/resource.ts'
import { type Counterexample, Counterexamples, type ShownAct } from '../../../src/tools/guarantees/counterexample.ts'
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
  const data = fc.constantFrom(...[...byName.values()].filter(({ builtIn }) => !builtIn))
  const one = data.chain((resource) =>
    fc
      .constantFrom('never', 'never', 'always')
      .chain((kind) =>
        randomAct(loaded, resource, kind === 'never' ? 'unless' : 'when').map((act) => ({ [kind]: act })),
      ),
  )
  const two = data.chain((resource) => {
    const act = randomAct(loaded, resource, 'when')
    const elsewhere = data.chain((other) => randomAct(loaded, other, 'when'))
    const onOne = fc.tuple(act, act).map((apart) => ({ apart }))
    return fc.oneof(
      onOne,
      onOne,
      fc.tuple(act, elsewhere).map((apart) => ({ apart, anywhere: true })),
    )
  })
  return fc.oneof(one, two).map((said) => stringify([{ name: 'drawn', ...said }], { aliasDuplicateObjects: false }))
}

function randomAct({ policy }: LoadedPolicy, resource: Resource, word: 'unless' | 'when'): fc.Arbitrary<object> {
  const roles = [...policy.roles.keys()]
  const relations = [...(policy.ownership.get(resource.name)?.relations.keys() ?? [])]
  const writable = [...resource.fields.values()].filter(({ readOnly }) => !readOnly).map(({ name }) => name)
  return fc
    .record({
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
    .map(({ subjects, actions, fields, left, right }) => {
      const side = (names: readonly string[]) => names.join('+') || 'any'
      const column = right !== null && WRITES.includes(actions[0] ?? '') ? `${side(left)}>${side(right)}` : side(left)
      return {
        ...(subjects && { subjects }),
        resource: resource.name,
        actions,
        ...(fields && !actions.includes('delete') && { fields }),
        ...(column !== 'any' && { [word]: column }),
      }
    })
}

const MOST_TRIED = 48

/** The first counterexample; `kind` is that of the answer. */
async function exampleOf(text: string, { files }: LoadedPolicy, resources: Resources) {
  const now = Date.now()
  const policy = parsePolicy({ ...files, 'guarantees.yaml': { name: 'guarantees.yaml', text } }, resources)
  const [guarantee] = policy.guarantees
  const answer = guarantee && new Prover(policy, resources, now).answer(guarantee)
  if (answer?.kind !== 'broken') return { kind: 'kept' } as const
  const examples = new Counterexamples(policy, resources, now)
  for (const breaking of answer.breaks().take(MOST_TRIED)) {
    const example = await examples.find(breaking)
    if (example) return { kind: 'broken', example } as const
  }
  return { kind: 'unshown' } as const
}

/** The times and credentials that this test can send. */
function isSendable({ shown: { facts, caller } }: ShownAct): boolean {
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

/** Sends the requests one after the other; where nothing else changes the object between them, the first one does. */
async function sendAll(server: TestServer, given: Counterexample) {
  const answers: { readonly shown: ShownAct; readonly status: number; readonly text: string }[] = []
  let made: Made | undefined
  const requests = withFreshIds(given.map((one) => one.shown))
  for (const [i, { by }] of given.entries()) {
    const one = { by, shown: requests[i] as ShownAct['shown'] }
    const shown = made ? { by, shown: withId(one.shown, made) } : one
    const { status, text } = await send(server, shown, made)
    answers.push({ shown, status, text })
    const { before, after, path } = one.shown
    const left = after ?? before
    const id = before?.id ?? (text && after ? JSON.parse(text).id : undefined)
    made = left && { was: String(left.id), id: String(id ?? left.id), left, path }
  }
  return answers
}

/** The object of the first request, which a create gives another id. */
interface Made {
  readonly was: string
  readonly id: string
  readonly left: Representation
  readonly path: string
}

function withId<T>(value: T, { was, id }: Made): T {
  return JSON.parse(JSON.stringify(value).replaceAll(was, id))
}

async function send(server: TestServer, { by, shown }: ShownAct, made: Made | undefined) {
  const { app } = server
  const { before, others, caller, facts, method, path, isConditional, body } = shown
  const declared = by.resource
  const place = async (resource: Resource, object: Representation) => {
    const { id, ...own } = withUniqueValues(resource, object, new Set(['id']))
    const document = documentPart(own)
    const stored = await app.store.get(resource.name, String(id))
    if (stored) await app.seeding.replace(resource.name, { id: String(id), version: stored.version, document })
    else await app.seeding.insert(resource.name, [{ id: String(id), document }])
  }
  const isLeft = made && before?.id === made.id && isSame(withId(made.left, made), before)
  if (before && !isLeft) await place(declared, before)
  for (const one of others) {
    const resource = app.resources.byName.get(one.resource)
    if (!resource) throw new Error(`there is no resource ${one.resource}`)
    await place(resource, one.object)
  }
  const sent = body && withUniqueValues(declared, body, new Set())
  const token = caller && (await tokenOf(server, caller))
  return server.ask(method, path, {
    token,
    body: sent,
    headers: { ...(isConditional && { 'if-match': '*' }), ...(facts.address && { 'x-forwarded-for': facts.address }) },
  })
}

function isSame({ updatedAt: _, ...one }: Representation, { updatedAt: __, ...other }: Representation): boolean {
  return isDeepStrictEqual(one, other)
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
      const counts = { never: 0, always: 0, apart: 0, unshown: 0 }
      const property = fc.asyncProperty(randomText(loaded, resources), async (text) => {
        const found = await exampleOf(text, loaded, resources).catch((error) => {
          if (error instanceof FileError) return { kind: 'mistaken' } as const
          throw error
        })
        if (found.kind === 'unshown') counts.unshown++
        if (found.kind !== 'broken' || !found.example.every(isSendable)) return
        const { kind } = found.example[0].by.act
        counts[kind]++
        for (const { shown, status, text: told } of await sendAll(server, found.example)) {
          expect(status, `${text}\n${JSON.stringify(found.example.map((one) => one.shown))}\n${told}`).to.equal(
            shown.shown.status,
          )
          if (kind !== 'always') expect(status).to.be.lessThan(300)
        }
      })
      await drawing(
        () => fc.assert(property, { numRuns: runs(300) }),
        () => expect(Math.min(counts.never, counts.always, counts.apart)).to.be.greaterThan(0),
      )
      expect(counts.unshown).to.be.lessThan(counts.never + counts.always + counts.apart)
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
      expect(found.example[0].shown.status).to.be.lessThan(300)
      const [answer] = await sendAll(server, found.example)
      expect(answer?.status).to.be.oneOf([401, 403])
    })
  })
}
