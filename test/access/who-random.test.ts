/** `access who` names exactly those whose request the server answers, for random policies, objects and people. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { FileError } from '../../src/base/diagnostic.ts'
import type { Caller } from '../../src/decide/caller.ts'
import type { WhoCan, WhoReport } from '../../src/tools/access/who.ts'
import { sallyport } from '../command.ts'
import { askedAbout } from '../policy/arbitrary-language.ts'
import { USER_IDS } from '../policy/arbitrary-objects.ts'
import { STORED, TASKS } from '../policy/language-fixture.ts'
import type { World } from '../policy/world.ts'
import { type ServedWorld, serveWorld } from '../request/served-world.ts'
import { drawing, runs, soak } from '../runs.ts'
import { createSchema } from '../store/postgres-schemas.ts'
import { conditionsOf, fits } from './holding.ts'

const ROLES = ['a', 'b', 'c']

interface Asked {
  readonly world: World
  readonly path: string
  readonly roles: Readonly<Record<string, readonly string[]>>
  readonly change: boolean
}

const randomAsked: fc.Arbitrary<Asked> = fc
  .record({
    asked: askedAbout(TASKS, TASKS, ...STORED),
    roles: fc.record(Object.fromEntries(USER_IDS.map((id) => [id, fc.subarray(ROLES)]))),
    pick: fc.nat(3),
    of: fc.constantFrom<'object' | 'list'>('object', 'object', 'object', 'list'),
    change: fc.boolean(),
    onCondition: fc.boolean(),
  })
  .map(({ asked, roles, pick, of, change, onCondition }) => {
    const world = onCondition ? withConditionalRule(asked.world) : asked.world
    const type = world.resource.name
    const object = (world.objects?.get(type) ?? [])[pick]
    const isObject = of === 'object' && object !== undefined
    return {
      world,
      roles,
      path: isObject ? `/${type}/${object.id}` : `/${type}`,
      change: change && isObject && type === 'tasks',
    }
  })

/** Few policies grant something under a condition alone; then `who` tells cases. */
function withConditionalRule({ policy, ...world }: World): World {
  const [condition] = policy.conditions?.keys() ?? []
  if (condition === undefined) return { policy, ...world }
  const { name } = world.resource
  const view = [...(policy.views.get(name)?.keys() ?? [])].at(-1) ?? '*'
  const rule = { subject: 'everyone', resource: name, views: [view], effect: 'allow' } as const
  const rules = [...policy.rules, { ...rule, relations: [condition], actions: ['list', 'read', 'update'] }]
  return { ...world, policy: { ...policy, rules } }
}

/** Callers that are asked for over HTTP: people, somebody with a token of a role, somebody whom rules may name. */
function callersOf({ world, roles }: Asked): readonly Found['caller'][] {
  const { caller, objects } = world
  const signIn = { authTime: caller.authTime, acr: caller.acr, claims: {} }
  const people = (objects?.get('users') ?? []).map(({ id }) => String(id))
  return [
    ...people.map((id) => ({ ...signIn, id, roles: roles[id] ?? [], isPerson: true })),
    ...USER_IDS.filter((id) => !people.includes(id)).map((id) => ({ ...signIn, id, roles: [], isPerson: false })),
    ...ROLES.map((role) => ({ ...signIn, id: `stranger-${role}`, roles: [role], isPerson: false })),
  ]
}

type Ask = (served: ServedWorld, asked: Asked) => Promise<WhoReport>

const askWho: Ask = async ({ env }, { path, change, world }) => {
  const words = change ? ['PATCH', path, '--field', 'note'] : ['GET', path]
  const at = new Date(world.now ?? 0).toISOString()
  const { stdout, stderr } = await sallyport(['access', 'who', ...words, '--at', at, '--format', 'json'], { env })
  expect(stdout, stderr).to.not.equal('')
  return JSON.parse(stdout)
}

const counted = { yes: 0, no: 0, cases: 0, token: 0 }

type MakeDatabase = () => Promise<{ readonly url: string; remove(): Promise<void> }>

function sameAsOverHttp(ask: Ask, makeDatabase?: MakeDatabase) {
  return fc.asyncProperty(randomAsked, async (asked) => {
    const callers = callersOf(asked)
    const use = async (served: ServedWorld) => {
      const { who, undecided } = await ask(served, asked)
      expect(undecided).to.deep.equal([])
      const holding = await conditionsOf(served, asked.world)
      for (const caller of callers) await compare(served, asked, { caller, holding, who })
    }
    const database = await makeDatabase?.()
    await serveWorld(asked.world, use, { others: callers, roles: asked.roles, databaseUrl: database?.url })
      .catch((error: unknown) => {
        if (error instanceof FileError) fc.pre(!error.diagnostics.every(({ code }) => code === 'too-many-relations'))
        throw error
      })
      .finally(() => database?.remove())
  })
}

interface Found {
  readonly caller: Caller & { readonly isPerson: boolean }
  readonly holding: ReadonlySet<string>
  readonly who: readonly WhoCan[]
}

/** The row that tells of a caller: that of a person, of a token with this subject, or of any token with the role. */
function rowOf({ caller, who }: Found): WhoCan | undefined {
  if (caller.isPerson) return who.find(({ kind, subject }) => kind === 'person' && subject === caller.id)
  const tokens = who.filter(({ kind }) => kind === 'token')
  const own = tokens.find(({ subject }) => subject === caller.id)
  const any = tokens.find(({ subject, roles }) => subject === null && roles.join() === caller.roles.join())
  return own ?? (any?.unless.includes(`user:${caller.id}`) ? undefined : any)
}

/** Whether the object may name this caller, so that a relation of the row holds. */
function isOpen({ caller }: Found, row: WhoCan): boolean {
  return row.subject === null && row.when.some((one) => one.includes('!')) && USER_IDS.some((id) => id === caller.id)
}

/** Asks the request of a caller over HTTP. */
async function compare(served: ServedWorld, { path, change, world }: Asked, found: Found): Promise<void> {
  const { caller, holding } = found
  const row = rowOf(found)
  if (row && (row.dependsOnValues || isOpen(found, row))) return
  const expected = row !== undefined && (row.when.length === 0 || row.when.some((one) => fits(one, holding)))
  const body = change ? { body: { note: 'another one' } } : {}
  const answer = await served.ask(change ? 'PATCH' : 'GET', path, { as: caller.id, ...body })
  expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 204, 400, 401, 403, 404])
  // The stored object doesn't fit its schema.
  if (answer.status === 400) return
  // 204: the caller may write the object, and not read what became of it.
  expect([200, 204].includes(answer.status), `${caller.id}: ${answer.status}, ${JSON.stringify(row)}`).to.equal(
    expected,
  )
  counted[expected ? 'yes' : 'no'] += 1
  if (!row || !expected) return
  const isRead = !change && path.split('/').length >= 3
  countRow(row, isRead ? Object.keys(answer.body) : [])
  if (isRead) compareFields(row, { holding, world, path, shown: Object.keys(answer.body) })
}

/** Of a token, relations aren't known beforehand; conditions are the same for all callers. */
function dependsOnConditions({ byCase, unless }: WhoCan, { policy }: World): boolean {
  const names = byCase.flatMap(({ when }) => when.flatMap((one) => one.split('+')))
  return unless.length === 0 && names.every((name) => policy.conditions?.has(name.replace('!', '')))
}

interface ShownFields extends Pick<Asked, 'world' | 'path'>, Pick<Found, 'holding'> {
  readonly shown: readonly string[]
}

/** An object shows the fields that are granted in this case and that it has. */
function compareFields(row: WhoCan, { holding, world, path, shown }: ShownFields): void {
  if (row.kind !== 'person' && !dependsOnConditions(row, world)) return
  const { byCase } = row
  const { fields = [] } = byCase.find(({ when }) => when.length === 0 || when.some((one) => fits(one, holding))) ?? {}
  const [resource = '', id] = path.split('/').slice(-2)
  const stored = { createdAt: '', updatedAt: '', ...world.objects?.get(resource)?.find((one) => one.id === id) }
  expect(fields.filter((name) => name in stored)).to.have.members(shown)
}

/** `shown`: the fields of the answer to a read. */
function countRow({ when, kind, unless, fields, byCase }: WhoCan, shown: readonly string[]): void {
  if (when.length > 0) counted.cases += 1
  if (kind === 'token') counted.token += 1
  // `fields` are those of the smallest case.
  if (when.length + unless.length === 0 && byCase.length === 1) expect(fields).to.include.members([...shown])
}

describe('access who, for random policies and people', () => {
  it('names whoever the server answers, and nobody else', () =>
    drawing(
      () => fc.assert(sameAsOverHttp(askWho), { numRuns: runs(150, 15), endOnFailure: true }),
      () => expect(Math.min(...Object.values(counted)), JSON.stringify(counted)).to.be.greaterThan(0),
    ))

  it('does so on PostgreSQL', () =>
    fc.assert(sameAsOverHttp(askWho, createSchema), { numRuns: runs(30, 4), endOnFailure: true }))

  const wrong: Readonly<Record<string, Ask>> = {
    'names nobody': async (...asked) => ({ ...(await askWho(...asked)), who: [] }),
    'forgets the cases': async (...asked) => {
      const report = await askWho(...asked)
      return { ...report, who: report.who.map((row) => ({ ...row, when: [] })) }
    },
    'takes the fields of one case for those of another': async (...asked) => {
      const report = await askWho(...asked)
      const turned = ({ byCase, ...row }: WhoCan) => {
        const fields = byCase.map((one) => one.fields)
        return { ...row, byCase: byCase.map((one, i) => ({ ...one, fields: fields.at(i - 1) ?? [] })) }
      }
      return { ...report, who: report.who.map(turned) }
    },
    'takes all people for the first one': async (...asked) => {
      const report = await askWho(...asked)
      const [first] = report.who.filter(({ kind }) => kind === 'person')
      const others = [...new Set(USER_IDS)].map((subject) => first && { ...first, subject })
      return {
        ...report,
        who: [...report.who.filter(({ kind }) => kind !== 'person'), ...others.filter((one) => one !== undefined)],
      }
    },
  }
  for (const [fault, ask] of Object.entries(wrong)) {
    it(`would find out one that ${fault}`, async () => {
      const outcome = await fc.check(sameAsOverHttp(ask), { numRuns: soak(500, 100), seed: 4, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
