/**
 * `access of` counts exactly the objects that the server shows a person, for random policies and objects, and `access
 * report` has the same for everybody.
 */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { FileError } from '../../src/base/diagnostic.ts'
import type { ActionOf, OfReport } from '../../src/tools/access/of.ts'
import type { AccessReport } from '../../src/tools/access/report.ts'
import { sallyport } from '../command.ts'
import { askedAbout } from '../policy/arbitrary-language.ts'
import { USER_IDS } from '../policy/arbitrary-objects.ts'
import { STORED, TASKS } from '../policy/language-fixture.ts'
import type { World } from '../policy/world.ts'
import { type ServedWorld, serveWorld } from '../request/served-world.ts'
import { drawing, runs, soak } from '../runs.ts'
import { createSchema } from '../store/postgres-schemas.ts'
import { conditionsOf, fits } from './holding.ts'

const randomPeople = fc.record({
  world: askedAbout(TASKS, TASKS, ...STORED).map(({ world }) => world),
  roles: fc.record(Object.fromEntries(USER_IDS.map((id) => [id, fc.subarray(['a', 'b', 'c'])]))),
})

type Ask = (served: ServedWorld, world: World, id: string) => Promise<OfReport>

const askOf: Ask = async ({ env }, world, id) => {
  const at = new Date(world.now ?? 0).toISOString()
  const { stdout, stderr } = await sallyport(
    ['access', 'of', `user:${id}`, '--objects', '--at', at, '--format', 'json'],
    { env },
  )
  expect(stdout, stderr).to.not.equal('')
  return JSON.parse(stdout)
}

type AskReport = (served: ServedWorld, world: World) => Promise<AccessReport>

const askReport: AskReport = async ({ env }, world) => {
  const at = new Date(world.now ?? 0).toISOString()
  const { stdout, stderr } = await sallyport(['access', 'report', '--at', at, '--format', 'json'], { env })
  expect(stdout, stderr).to.not.equal('')
  return JSON.parse(stdout)
}

const counted = { objects: 0, nothing: 0, fields: 0, reported: 0 }

type MakeDatabase = () => Promise<{ readonly url: string; remove(): Promise<void> }>

function sameAsOverHttp(ask: Ask, makeDatabase?: MakeDatabase, report: AskReport = askReport) {
  return fc.asyncProperty(randomPeople, async ({ world, roles }) => {
    const people = (world.objects?.get('users') ?? []).map(({ id }) => String(id))
    const { authTime, acr } = world.caller
    const callers = people.map((id) => ({ id, roles: roles[id] ?? [], claims: {}, authTime, acr }))
    const use = async (served: ServedWorld) => {
      const holding = await conditionsOf(served, world)
      const everybody = await report(served, world)
      for (const { id } of callers) {
        const found = await ask(served, world, id)
        expect(found.undecided).to.deep.equal([])
        for (const resource of world.objects?.keys() ?? [])
          await compare(served, world, { report: found, resource, holding })
        compareReported(found, everybody)
      }
    }
    const database = await makeDatabase?.()
    await serveWorld(world, use, { others: callers, roles, databaseUrl: database?.url })
      .catch((error: unknown) => {
        if (error instanceof FileError) fc.pre(!error.diagnostics.every(({ code }) => code === 'too-many-relations'))
        throw error
      })
      .finally(() => database?.remove())
  })
}

interface Compared {
  readonly report: OfReport
  readonly resource: string
  readonly holding: ReadonlySet<string>
}

/** Reads each object as this person, over HTTP. */
async function compare(served: ServedWorld, world: World, { report, resource, holding }: Compared): Promise<void> {
  const found = report.resources.find((one) => one.resource === resource)
  const rows = found?.actions.filter(({ when }) => when.length === 0 || when.some((one) => fits(one, holding))) ?? []
  const [read, list] = ['read', 'list'].map((action) => rows.find((row) => row.action === action))
  const shown = new Map<string, readonly string[]>()
  for (const { id } of world.objects?.get(resource) ?? []) {
    const { status, body } = await served.ask('GET', `/${resource}/${id}`, { as: report.subject })
    if (status === 200) shown.set(String(id), Object.keys(body))
  }
  const about = `${report.subject} ${resource} ${JSON.stringify(read)}`
  expect([...(read?.ids ?? [])].toSorted(), about).to.deep.equal([...shown.keys()].toSorted())
  expect(read?.objects ?? 0, about).to.equal(shown.size)
  counted[shown.size > 0 ? 'objects' : 'nothing'] += 1
  if (read) compareFields(read, shown)
  const { status, body } = await served.ask('GET', `/${resource}`, { as: report.subject })
  const listed = status === 200 ? body.items.map(({ id }: { id?: string }) => id) : []
  expect(list?.objects ?? 0, about).to.equal(listed.length)
}

/** The report has the same rows of this person. */
function compareReported({ subject, resources }: OfReport, { rows }: AccessReport): void {
  const sorted = (some: readonly unknown[]) => some.map((one) => JSON.stringify(one)).toSorted()
  const own = resources.flatMap(({ resource, actions }) => actions.map(({ ids: _, ...row }) => ({ resource, ...row })))
  const reported = rows
    .filter((row) => row.subject === subject && row.key === null)
    .map(({ subject: _, key: _key, roles: _roles, ...row }) => row)
  expect(sorted(reported), subject).to.deep.equal(sorted(own))
  counted.reported += own.length
}

/** An object may lack a field that is granted. */
function compareFields({ fields }: ActionOf, shown: ReadonlyMap<string, readonly string[]>): void {
  for (const { names, objects } of fields) {
    const having = [...shown.values()].filter((some) => names.some((name) => some.includes(name)))
    expect(having.length, names.join()).to.be.at.most(objects ?? 0)
    if (names.includes('id')) expect(having.length, names.join()).to.equal(objects)
    counted.fields += 1
  }
}

describe('access of, for random policies and people', () => {
  it('counts and lists the objects that the server shows, and no others', () =>
    drawing(
      () => fc.assert(sameAsOverHttp(askOf), { numRuns: runs(60, 6), endOnFailure: true }),
      () => expect(Math.min(...Object.values(counted)), JSON.stringify(counted)).to.be.greaterThan(0),
    ))

  it('does so on PostgreSQL', () =>
    fc.assert(sameAsOverHttp(askOf, createSchema), { numRuns: runs(15, 2), endOnFailure: true }))

  const wrong: Readonly<Record<string, Ask>> = {
    'finds nothing': async (...asked) => ({ ...(await askOf(...asked)), resources: [] }),
    'counts all objects': async (...asked) => {
      const report = await askOf(...asked)
      const counting = report.resources.map((one) => ({
        ...one,
        actions: one.actions.map((row) => ({ ...row, objects: one.objects })),
      }))
      return { ...report, resources: counting }
    },
    'asks as somebody else': async (served, world) => ({
      ...(await askOf(served, world, 'nobody')),
      subject: String(world.objects?.get('users')?.[0]?.id),
      undecided: [],
    }),
  }
  for (const [fault, ask] of Object.entries(wrong)) {
    it(`would find out one that ${fault}`, async () => {
      const outcome = await fc.check(sameAsOverHttp(ask), { numRuns: soak(200, 60), seed: 7, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }

  const wrongReports: Readonly<Record<string, (report: AccessReport) => AccessReport>> = {
    'leaves out a row': (report) => ({ ...report, rows: report.rows.slice(1) }),
    'counts an object more': (report) => ({
      ...report,
      rows: report.rows.map((row) => ({ ...row, objects: row.objects === null ? null : row.objects + 1 })),
    }),
  }
  for (const [fault, changed] of Object.entries(wrongReports)) {
    it(`would find out a report that ${fault}`, async () => {
      const report: AskReport = async (...asked) => changed(await askReport(...asked))
      const property = sameAsOverHttp(askOf, undefined, report)
      const outcome = await fc.check(property, { numRuns: soak(200, 60), seed: 7, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
