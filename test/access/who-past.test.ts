/** `access who --at` names whoever the server would have answered then, by the histories of all that relations rest on. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { WhoReport } from '../../src/tools/access/who.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { type DrawnRule, drawnRules, type NamedTerm, pastWorld, ROLES, SURE_RULES } from '../request/past-world.ts'
import { SEED, soak } from '../runs.ts'

/** Changes of what decides about one paper. */
const STEPS = ['join', 'leave', 'lock', 'unlock', 'mark', 'unmark', 'give', 'finish'] as const
type Step = (typeof STEPS)[number]

const ALL = ['papers', 'folders', 'memberships', 'marks']

for (const [engine, startOn] of ENGINES) {
  describe(`who could, on ${engine}`, () => {
    const rules = [SURE_RULES, ...fc.sample(drawnRules, { seed: SEED, numRuns: ROLES.length - 1 })]
    let on: OnEngine | undefined
    afterEach(() => on?.stop())

    async function start(kept: readonly string[], own: Parameters<typeof pastWorld>[0] = rules) {
      on = await startOn({ files: pastWorld(own, kept) })
      const { server, env } = on
      const root = await server.token('root', 'root')
      const ask = async (method: string, path: string, body?: unknown) => {
        const answer = await server.ask(method, path, { token: root, ...(body === undefined ? {} : { body }) })
        expect(answer.status, `${method} ${path}`).to.be.within(200, 204)
        return answer.body
      }
      const people = await Promise.all(
        ROLES.map(async (role, n) => ({ id: userOf(n), role, token: await server.token(userOf(n), role) })),
      )
      for (const { id, role } of people) {
        await server.app.seeding.insert('users', [{ id, document: { email: `${id}@example.com`, roles: [role] } }])
      }
      const folderId = (await ask('POST', '/folders', { locked: false })).id
      const paper = { title: 't', secret: 's', status: 'new', ownerId: userOf(1), folderId }
      const { id } = await ask('POST', '/papers', paper)
      /** By the fields that each is shown. */
      const answers = async () => {
        const found = people.map(async ({ id: person, token }): Promise<readonly [string, string]> => {
          const { status, body } = await server.ask('GET', `/papers/${id}/history?limit=1`, { token })
          return [person, status === 200 ? Object.keys(body.items[0].object).sort().join() : '']
        })
        return new Map((await Promise.all(found)).filter(([, shown]) => shown !== ''))
      }
      const who = async (at: string): Promise<WhoReport> => {
        const words = ['access', 'who', 'GET', `/papers/${id}/history`, '--at', at, '--format', 'json']
        const { stdout, stderr } = await sallyport(words, { env })
        expect(stdout, stderr).not.to.equal('')
        return JSON.parse(stdout)
      }
      return { ask, answers, who, id, folderId }
    }

    function shownTo({ who }: WhoReport) {
      const people = who.filter(({ kind }) => kind === 'person')
      return new Map(people.map(({ subject, fields }) => [subject, [...fields].sort().join()]))
    }

    it('is what the server answered then, after objects came, changed and went', async () => {
      const world = await start(ALL)
      const { ask, answers, who, id, folderId } = world
      const made: Record<'memberships' | 'marks', string[]> = { memberships: [], marks: [] }
      const run: Record<Step, (n: number) => unknown> = {
        join: async (n) =>
          made.memberships.push((await ask('POST', '/memberships', { folderId, userId: userOf(n) })).id),
        leave: () => made.memberships.length > 0 && ask('DELETE', `/memberships/${made.memberships.pop()}`),
        lock: () => ask('PATCH', `/folders/${folderId}`, { locked: true }),
        unlock: () => ask('PATCH', `/folders/${folderId}`, { locked: false }),
        mark: async (n) => made.marks.push((await ask('POST', '/marks', { paperId: id, userId: userOf(n) })).id),
        unmark: () => made.marks.length > 0 && ask('DELETE', `/marks/${made.marks.pop()}`),
        give: (n) => ask('PATCH', `/papers/${id}`, { ownerId: userOf(n) }),
        finish: () => ask('PATCH', `/papers/${id}`, { status: 'done' }),
      }
      const drawn = fc.sample(fc.tuple(fc.constantFrom(...STEPS), fc.nat()), { seed: SEED, numRuns: soak(40, 2) })
      const told: { readonly at: string; readonly shown: ReadonlyMap<string, string> }[] = []
      for (const [step, n] of [['join', 1], ['unlock', 0], ...drawn, ['lock', 0]] as [Step, number][]) {
        await run[step](n)
        await sleep(2)
        told.push({ at: new Date().toISOString(), shown: await answers() })
        await sleep(2)
      }
      for (const path of [
        ...made.memberships.map((one) => `/memberships/${one}`),
        `/papers/${id}`,
        `/folders/${folderId}`,
      ])
        await ask('DELETE', path)
      for (const { at, shown } of told) {
        const report = await who(at)
        expect(report.asToday).to.deep.equal([])
        expect(shownTo(report), at).to.deep.equal(shown)
      }
      const { stderr } = await sallyport(['access', 'who', 'GET', `/papers/${id}/history`], { env: on?.env ?? {} })
      expect(stderr).to.include('name another one or, if it was deleted, a time before that (--at)')
      // The negative control: to answer by another time would be found.
      expect(told[0]?.shown).not.to.deep.equal(told.at(-1)?.shown)
    }).timeout(60_000)

    it('names each resource that it takes as it is today, and why', async () => {
      const { ask, who, id, folderId } = await start(
        ['papers', 'folders'],
        [SURE_RULES, allowed('member'), allowed('marked')],
      )
      await sleep(2)
      const at = new Date().toISOString()
      await ask('PATCH', `/folders/${folderId}`, { locked: true })
      const named = (report: WhoReport) => report.asToday.map(({ resource, why }) => `${resource}: ${why}`)
      const none = 'it keeps no history'
      expect(named(await who(at))).to.have.members([`memberships: ${none}`, `marks: ${none}`])
      expect(named(await who('2999-01-01'))).to.deep.equal([])
      await on?.run("update kept_changes set since = 1000000000 where resource = 'folders'")
      const late = 'its history is not known to reach back so far'
      expect(named(await who(at))).to.include(`folders: ${late}`)
      const words = ['access', 'who', 'GET', `/papers/${id}/history`, '--at', at]
      const { stdout } = await sallyport(words, { env: on?.env ?? {} })
      expect(stdout).to.include(`taken as they are today:\n  folders: ${late}\n`)
    })
  })
}

function allowed(name: NamedTerm): readonly DrawnRule[] {
  return [{ terms: [{ name, not: false }], view: 'whole', effect: 'allow' }]
}

function userOf(n: number): string {
  return `person-${ROLES[n % ROLES.length]}`
}
