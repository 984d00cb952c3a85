/** `access compare` finds exactly what `access of` tells differently of two random policies, for each person. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { FileError } from '../../src/base/diagnostic.ts'
import { subsets } from '../../src/base/subsets.ts'
import type { AccessChange, AccessComparison } from '../../src/tools/access/compare.ts'
import type { ActionOf, OfReport } from '../../src/tools/access/of.ts'
import { sallyport } from '../command.ts'
import { askedAbout } from '../policy/arbitrary-language.ts'
import { USER_IDS } from '../policy/arbitrary-objects.ts'
import { STORED, TASKS } from '../policy/language-fixture.ts'
import { filesOfWorld } from '../policy/language-product.ts'
import type { World } from '../policy/world.ts'
import { type ServedWorld, serveWorld } from '../request/served-world.ts'
import { drawing, runs, soak } from '../runs.ts'
import { fits } from './holding.ts'

const randomWorld = askedAbout(TASKS, TASKS, ...STORED).map(({ world }) => world)
const randomVersions = fc.record({
  world: randomWorld,
  later: randomWorld,
  roles: fc.record(Object.fromEntries(USER_IDS.map((id) => [id, fc.subarray(['a', 'b', 'c'])]))),
})

type Compare = (served: ServedWorld, from: string, to: string, at: string) => Promise<AccessComparison>

async function json<T>({ env }: ServedWorld, ...args: readonly string[]): Promise<T> {
  const { stdout, stderr } = await sallyport(['access', ...args, '--format', 'json'], { env })
  expect(stdout, stderr).to.not.equal('')
  return JSON.parse(stdout)
}

const askCompare: Compare = (served, from, to, at) => json(served, 'compare', '--from', from, '--to', to, '--at', at)

const counted = { gained: 0, lost: 0, same: 0, fields: 0 }

function sameAsApart(ask: Compare) {
  return fc.asyncProperty(randomVersions, async ({ world, later, roles }) => {
    const people = (world.objects?.get('users') ?? []).map(({ id }) => String(id))
    const at = new Date(world.now ?? 0).toISOString()
    const use = async (served: ServedWorld) => {
      const from = served.env.POLICIES ?? ''
      const to = `${from}-later`
      await writeVersion(to, later)
      const { changes, compared, undecided } = await ask(served, from, to, at)
      expect(undecided).to.deep.equal([])
      expect(compared).to.equal(people.length)
      for (const id of people) {
        const of = (policies: string) =>
          json<OfReport>(served, 'of', `user:${id}`, '--objects', '--at', at, '--policies', policies)
        const mine = changes.filter(({ subject }) => subject === id)
        expectSame(await of(from), await of(to), mine)
      }
    }
    await serveWorld(world, use, { roles }).catch((error: unknown) => {
      if (error instanceof FileError) fc.pre(!error.diagnostics.every(({ code }) => code === 'too-many-relations'))
      throw error
    })
  })
}

async function writeVersion(folder: string, world: World): Promise<void> {
  await mkdir(folder)
  await writeFile(join(folder, 'blocked.txt'), '')
  for (const file of Object.values(filesOfWorld(world))) if (file) await writeFile(join(folder, file.name), file.text)
}

function expectSame(before: OfReport, after: OfReport, changes: readonly AccessChange[]): void {
  const all = [...actionsOf(before), ...actionsOf(after), ...changes]
  for (const [, some] of Map.groupBy(all, ({ resource, action }) => `${resource} ${action}`)) {
    const names = new Set(some.flatMap(({ when }) => when.flatMap((one) => one.replaceAll('!', '').split('+'))))
    for (const set of subsets([...names])) expectSameIn(new Set(set), some[0] ?? all[0], { before, after, changes })
  }
}

interface Sides {
  readonly before: OfReport
  readonly after: OfReport
  readonly changes: readonly AccessChange[]
}

/** While exactly these conditions hold. */
function expectSameIn(
  holding: ReadonlySet<string>,
  about: Pick<AccessChange, 'resource' | 'action'> | undefined,
  { before, after, changes }: Sides,
): void {
  const isIt = (one: Pick<AccessChange, 'resource' | 'action' | 'when'>) =>
    one.resource === about?.resource &&
    one.action === about.action &&
    (one.when.length === 0 || one.when.some((terms) => fits(terms, holding)))
  const [old, fresh] = [before, after].map((side) => actionsOf(side).find(isIt))
  const [change, ...others] = changes.filter(isIt)
  const text = JSON.stringify({ about, holding: [...holding], old, fresh, change })
  expect(others, text).to.deep.equal([])
  for (const [way, one, other] of [
    ['gained', fresh, old],
    ['lost', old, fresh],
  ] as const) {
    const part = change?.[way]
    if (one?.objects === null) {
      expect(part !== null && part !== undefined, text).to.equal(
        namesOf(one).difference(namesOf(other)).size > 0 || !other,
      )
      continue
    }
    const beyond = new Set(one?.ids).difference(new Set(other?.ids))
    expect(part?.objects ?? 0, text).to.equal(beyond.size)
    counted[beyond.size > 0 ? way : 'same'] += 1
  }
  for (const name of new Set([...namesOf(old), ...namesOf(fresh)])) {
    const more = granted(change?.gained, name) - granted(change?.lost, name)
    expect(more, `${name} ${text}`).to.equal(granted(fresh, name) - granted(old, name))
    if (more !== 0) counted.fields += 1
  }
}

function actionsOf({ resources }: OfReport) {
  return resources.flatMap(({ resource, actions }) => actions.map((one) => ({ resource, ...one })))
}

function namesOf(one: ActionOf | undefined): ReadonlySet<string> {
  return new Set(one?.fields.flatMap(({ names }) => names))
}

/** On how many objects; 1 for a new one. */
function granted(part: Pick<ActionOf, 'fields'> | null | undefined, name: string): number {
  const found = part?.fields.find(({ names }) => names.includes(name))
  return found ? (found.objects ?? 1) : 0
}

describe('access compare, for random policies and people', () => {
  it('tells what each person gained and lost, and nothing else', () =>
    drawing(
      () => fc.assert(sameAsApart(askCompare), { numRuns: runs(60, 6), endOnFailure: true }),
      () => expect(Math.min(...Object.values(counted)), JSON.stringify(counted)).to.be.greaterThan(0),
    ))

  const wrong: Readonly<Record<string, Compare>> = {
    'finds nothing': async (...asked) => ({ ...(await askCompare(...asked)), changes: [] }),
    'takes the later version for the earlier one': (served, from, to, at) => askCompare(served, to, from, at),
    'forgets the cases': async (...asked) => {
      const found = await askCompare(...asked)
      return { ...found, changes: found.changes.map((one) => ({ ...one, when: [] })) }
    },
  }
  for (const [fault, ask] of Object.entries(wrong)) {
    it(`would find out one that ${fault}`, async () => {
      const outcome = await fc.check(sameAsApart(ask), { numRuns: soak(200, 60), seed: 7, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
