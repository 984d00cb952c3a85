/**
 * What questions say of a command is what its POST does: for random rules about the command's action and about `update`,
 * and for random objects. `npm test` draws a few callers; soak draws more.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { Prover } from '../../src/analysis/guarantees/prove.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { policyFiles, shipped } from '../openapi/fixture.ts'
import { withRules } from '../policy-text.ts'
import { drawing, runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { COMMANDING } from './commanding-world.ts'

const ACTIONS = ['finish', 'reopen', 'stamp', 'unlock', 'hold']

const randomRule = fc
  .record({
    actions: fc.subarray([...ACTIONS, 'update', 'read'], { minLength: 1 }),
    column: fc.constantFrom('any', 'any', 'owner', 'open', 'owner+open', '!finished', 'open>finished', 'any>!open'),
    fields: fc.constantFrom('*', '*', '*', 'open', 'state', 'note', 'state|note'),
    effect: fc.constantFrom('allow', 'allow', 'allow', 'allow', 'deny'),
  })
  .map(({ actions: all, column, fields, effect }) => {
    // Only a change has a result.
    const actions = column.includes('>') ? [...new Set(['update', ...all])].filter((name) => name !== 'read') : all
    return `jobs, ${actions.join('|')}, ${column}, ${fields}, ${effect}`
  })

/** The rules of one caller, with a common beginning, so that many commands run. */
const randomCaller = fc.record({
  common: fc.constantFrom('jobs, *, any, *, allow', 'jobs, *, owner, *, allow', 'jobs, read|update, any, *, allow', ''),
  rules: fc.array(randomRule, { minLength: 1, maxLength: 4 }),
})

/** Sets nothing, whatever its other roles may do: so the guarantees hold. Few that are drawn deny so much. */
const DENIED = { common: 'jobs, *, any, *, deny', rules: [] }

const randomJobs = fc.array(
  fc.record({
    isOwn: fc.boolean(),
    state: fc.constantFrom('open', 'held', 'done'),
    secret: fc.constantFrom('none', 'kept'),
  }),
  { minLength: 2, maxLength: 2 },
)

interface Caller {
  readonly name: string
  readonly lines: readonly string[]
}

function callersIn(
  drawn: readonly { readonly common: string; readonly rules: readonly string[] }[],
): readonly Caller[] {
  return drawn.map(({ common, rules }, i) => {
    const name = `r${i}`
    return { name, lines: [common, ...rules].filter(Boolean).map((rule) => `p, ${name}, ${rule}`) }
  })
}

function filesFor(callers: readonly Caller[]): Readonly<Record<string, string>> {
  const [policy, ownership] = ['policies/policy.csv', 'policies/ownership.yaml'].map((name) => COMMANDING[name] ?? '')
  const states = 'open: { field: state, in: [open] }, finished: { field: state, in: [done] }'
  return {
    ...COMMANDING,
    'policies/policy.csv': withRules(policy ?? '', callers.flatMap(({ lines }) => lines).join('\n')),
    'policies/ownership.yaml': (ownership ?? '').replace('{ owner: ownerId } }', `{ owner: ownerId, ${states} } }`),
    'policies/roles.yaml': ['member', 'support', 'auditor', 'admin', 'pdp-client', ...callers.map(({ name }) => name)]
      .map((name) => `${name}: { description: A role. }\n`)
      .join(''),
  }
}

/** What each command sets by itself, and `finish` with the input of this test. */
const SETS: Readonly<Record<string, readonly string[]>> = {
  finish: ['state', 'note', 'by', 'at'],
  reopen: ['state'],
  stamp: ['secret'],
  unlock: ['note'],
  hold: ['state'],
}

/** The fields of which a guarantee says that the caller never updates them, and the rules let it. */
function brokenFor(callers: readonly Caller[]) {
  const fields = [...new Set(Object.values(SETS).flat())]
  const all = callers.flatMap(({ name }) => fields.map((field) => `${name} ${field}`))
  const sentences = all.map((key) => {
    const [role, field] = key.split(' ')
    const about = `subjects: [${role}], resource: jobs, actions: [update], fields: [${field}]`
    return `- name: ${key}\n  never: { ${about} }\n`
  })
  const files = { ...filesFor(callers), 'policies/guarantees.yaml': sentences.join('') }
  const { resources } = shipped(files)
  const policy = parsePolicy(policyFiles(files), resources)
  const prover = new Prover(policy, resources, Date.parse('2026-06-01T00:00:00Z'))
  const broken = policy.guarantees.filter((one) => prover.answer(one).kind === 'broken')
  return { broken: new Set(broken.map(({ name }) => name)), kept: all.length - broken.length }
}

interface Asking {
  readonly server: TestServer
  readonly admin: string
  readonly pep: string
}

/** A person with this role alone, and the id of its record. */
async function personOf({ server, admin }: Asking, name: string) {
  const body = { email: `${name}@example.com`, displayName: name, roles: [name] }
  const { id } = (await server.ask('POST', '/api/users', { token: admin, body })).body
  return { id: id as string, token: await server.token(id, name) }
}

type Person = Awaited<ReturnType<typeof personOf>>

interface Tried {
  readonly decision: boolean
  readonly isFound: boolean
  readonly status: number
}

/** Asks about a command, and then runs it, on an object of its own. */
async function tried(
  { server, admin, pep }: Asking,
  { id: caller, token }: Person,
  action: string,
  { isOwn, ...fields }: Readonly<Record<string, unknown>>,
): Promise<Tried> {
  const own = { ownerId: isOwn ? caller : 'other', ...fields }
  const { id } = (await server.ask('POST', '/jobs', { token: admin, body: own })).body
  const input = action === 'finish' ? { body: { note: 'done' } } : {}
  const about = {
    subject: { type: 'user', id: caller },
    action: { name: action, properties: input },
    resource: { type: 'jobs', id },
  }
  const asked = async (kind: string) =>
    (await server.ask('POST', `/access/v1/${kind}`, { token: pep, body: about })).body
  const { decision } = await asked('evaluation')
  const isFound = (await asked('search/resource')).results.some((one: { readonly id: string }) => one.id === id)
  const headers = { 'if-match': '*' }
  const { status } = await server.ask('POST', `/jobs/${id}/${action}`, { token, headers, ...input })
  await server.ask('DELETE', `/jobs/${id}`, { token: admin })
  return { decision, isFound, status }
}

describe('questions about a command', () => {
  const counted = { yes: 0, no: 0, broken: 0 }
  /** The fields that a caller has set by a command, whatever rules about `update` say. */
  const set = new Set<string>()

  const note = (caller: string, action: string) => {
    for (const field of SETS[action] ?? []) set.add(`${caller} ${field}`)
  }

  const compare = async (asking: Asking, { name, lines }: Caller, jobs: readonly Record<string, unknown>[]) => {
    const person = await personOf(asking, name)
    for (const [job, action] of jobs.flatMap((one) => ACTIONS.map((action) => [one, action] as const))) {
      const { decision, isFound, status } = await tried(asking, person, action, job)
      const what = JSON.stringify({ lines, action, job, status })
      expect(isFound, what).to.equal(decision)
      if (status === 409) continue
      expect(status, what).to.be.oneOf([200, 204, 403])
      expect(decision, what).to.equal(status < 300)
      counted[decision ? 'yes' : 'no'] += 1
      if (decision) note(name, action)
    }
  }

  it('are answered as the POST is: by AuthZEN evaluations, searches, and guarantees about who updates a field', () =>
    drawing(
      async () => {
        const [drawn, [jobs = []]] = [fc.sample(randomCaller, runs(24, 4)), fc.sample(randomJobs, 1)]
        const callers = callersIn(drawn)
        const server = await startTestServer({ files: filesFor(callers) })
        const asking = {
          server,
          admin: await server.token('ada', 'admin'),
          pep: await server.token('shop', 'pdp-client'),
        }
        try {
          set.clear()
          for (const caller of callers) await compare(asking, caller, jobs)
        } finally {
          await server.stop()
        }
        const { broken } = brokenFor(callers)
        expect([...set].filter((key) => !broken.has(key))).to.deep.equal([])
        counted.broken += set.size
      },
      () => {
        expect(counted.yes, 'allowed').to.be.greaterThan(3)
        expect(counted.no, 'refused').to.be.greaterThan(3)
        expect(counted.broken, 'set by commands').to.be.greaterThan(3)
        expect(brokenFor(callersIn([DENIED])).kept, 'guarantees that hold').to.be.greaterThan(0)
      },
    ))
})
