/** Histories of deleted objects: today's gate, asked about what they were last, tells nobody more than it did then. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { subsets } from '../../src/base/subsets.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { SEED, soak } from '../runs.ts'
import type { TestServer } from '../server.ts'
import {
  DENIED_ROLE,
  type DrawnPaper,
  type DrawnRule,
  drawnPaper,
  drawnRules,
  NAMES,
  type NamedTerm,
  PEOPLE,
  pastWorld,
  ROLES,
  SURE_PAPERS,
  SURE_RULES,
  VIEWS,
} from './past-world.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`histories of deleted objects, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let root: string
    const rules = [SURE_RULES, ...fc.sample(drawnRules, { seed: SEED, numRuns: ROLES.length - 1 })]

    before(async () => {
      on = await startOn({ files: pastWorld(rules) })
      server = on.server
      root = await server.token('root', 'root')
    })
    after(() => on.stop())

    const ask = (method: string, path: string, body?: unknown, token = root) =>
      server.ask(method, path, { token, ...(body === undefined ? {} : { body }) })
    const made = async (resource: string, body: unknown): Promise<string> => {
      const { status, body: answer } = await ask('POST', `/${resource}`, body)
      expect(status, JSON.stringify(answer)).to.equal(201)
      return answer.id
    }
    const historyOf = (id: string, token = root, query = '') =>
      ask('GET', `/papers/${id}/history${query}`, undefined, token)

    it('have the delete as their newest version, with who deleted it, and the versions before it', async () => {
      const id = await made('papers', { ownerId: 'ann', title: 'one', secret: 's' })
      await ask('PATCH', `/papers/${id}`, { title: 'two' })
      const { items } = (await historyOf(id)).body
      expect((await ask('DELETE', `/papers/${id}`)).status).to.equal(204)
      const { status, body } = await historyOf(id)
      expect(status, JSON.stringify(body)).to.equal(200)
      const [deletion, ...others] = body.items
      expect(others).to.deep.equal(items)
      expect(deletion).to.include({ version: 3, object: null })
      expect(deletion.by).to.include({ subject: 'root', action: 'delete' })
      expect(await server.lastDecision({ action: 'history', objectId: id })).to.include({ outcome: 'allowed' })
      const paged = (await historyOf(id, root, '?limit=1')).body
      expect(paged.items).to.deep.equal([deletion])
      const next = (await historyOf(id, root, `?limit=1&cursor=${paged.next}`)).body.items
      expect(next).to.deep.equal([items[0]])
      expect((await historyOf(id, root, `?at=${items[1].at}`)).body.items).to.deep.equal([items[1]])
      const later = new Date(Date.parse(deletion.at) + 1).toISOString()
      expect((await historyOf(id, root, `?at=${later}`)).body.code).to.equal('version-not-found')
    })

    /** The folder of a paper, with its members; undefined for a paper without one. */
    async function folderFor({ folder, members }: DrawnPaper): Promise<string | undefined> {
      if (!folder) return undefined
      const folderId = await made('folders', { locked: folder === 'locked' })
      for (const userId of members) await made('memberships', { folderId, userId })
      return folderId
    }

    /** Makes the paper, asks `meanwhile`, and deletes it with what is deleted along. */
    async function madeAndDeleted(paper: DrawnPaper, meanwhile: (id: string) => Promise<void>): Promise<string> {
      const { marks, ownerId, status, ends } = paper
      const folderId = await folderFor(paper)
      const placed = { ...(folderId && { folderId }), ...(ownerId && { ownerId }) }
      const id = await made('papers', { title: 't', secret: 's', status, ...placed })
      const along: string[] = []
      for (const userId of marks) along.push(`/marks/${await made('marks', { paperId: id, userId })}`)
      await meanwhile(id)
      const emptied = ends.folder && folderId ? [`/folders/${folderId}`] : []
      for (const path of [`/papers/${id}`, ...(ends.marks ? along : []), ...emptied])
        expect((await ask('DELETE', path)).status).to.equal(204)
      return id
    }

    it('are told as before the delete, whatever was deleted too, and else are the 404 of a missing object', async () => {
      const seen = { shown: 0, hidden: 0, naive: 0 }
      const callers = await Promise.all(
        ROLES.flatMap((role, n) =>
          PEOPLE.map(async (who) => ({ who, rules: rules[n] ?? [], token: await server.token(who, role) })),
        ),
      )
      const missing = await Promise.all(callers.map(({ token }) => historyOf(randomUUID(), token)))
      const check = async (paper: DrawnPaper, id: string, before: readonly number[], n: number) => {
        const { who, rules: own, token } = callers[n] as (typeof callers)[number]
        const { status, body } = await historyOf(id, token)
        const { shown, naive } = expected(own, (name) => truthOf(paper, who)[name])
        const told = JSON.stringify({ paper, who, own, body })
        const otherwise = [missing[n]?.status, missing[n]?.body.code]
        expect([status, body.code], told).to.deep.equal(shown ? [200, undefined] : otherwise)
        seen[shown ? 'shown' : 'hidden'] += 1
        if (naive !== (shown !== undefined)) seen.naive += 1
        if (!shown) return
        expect(Object.keys(body.items[1].object).sort(), told).to.deep.equal([...shown].sort())
        expect(before[n], told).to.equal(200)
      }
      const papers = [...SURE_PAPERS, ...fc.sample(drawnPaper, { seed: SEED, numRuns: soak(60, 5) })]
      for (const paper of papers) {
        const before: number[] = []
        const id = await madeAndDeleted(paper, async (alive) => {
          for (const { token } of callers) before.push((await historyOf(alive, token)).status)
        })
        for (const n of callers.keys()) await check(paper, id, before, n)
      }
      expect(seen.shown).to.be.greaterThan(0)
      expect(seen.hidden).to.be.greaterThan(0)
      // The negative control: a gate that takes what is gone for what never was gives other answers.
      expect(seen.naive).to.be.greaterThan(0)
    })

    it('of an earlier object with the same id are decided by what that object was last', async () => {
      const id = await made('papers', { ownerId: 'ann', title: 'first' })
      const [{ at: first }] = (await historyOf(id)).body.items
      await ask('DELETE', `/papers/${id}`)
      await server.app.seeding.insert('papers', [{ id, document: { ownerId: 'ben', title: 'second' } }])
      const [ann, ben] = await Promise.all(['ann', 'ben'].map((who) => server.token(who, 'owners')))
      const titles = async (token: string | undefined, query = '') =>
        ((await historyOf(id, token, query)).body.items ?? []).map((one: Shown) => one.object?.title)
      expect(await titles(ben)).to.deep.equal(['second'])
      expect((await historyOf(id, ben, `?at=${first}`)).body.code).to.equal('version-not-found')
      expect(await titles(ann)).to.deep.equal([])
      expect(await titles(ann, `?at=${first}`)).to.deep.equal(['first'])
      await ask('DELETE', `/papers/${id}`)
      expect(await titles(ben)).to.deep.equal([undefined, 'second'])
      expect((await historyOf(id, ben, `?at=${first}`)).body.code).to.equal('version-not-found')
      expect(await titles(ann)).to.deep.equal([])
      expect(await titles(ann, `?at=${first}`)).to.deep.equal(['first'])
    })

    for (const atomic of [false, true]) {
      it(`have the writes before them in a batch that is ${atomic ? '' : 'not '}atomic`, async () => {
        const path = `/papers/${await made('papers', { title: 'one' })}`
        const requests = [
          { id: 'change', method: 'PATCH', path, body: { title: 'two' } },
          { id: 'then', method: 'GET', path: `${path}/history` },
          { id: 'delete', method: 'DELETE', path },
          { id: 'gone', method: 'GET', path: `${path}/history` },
        ]
        const { status, body, text } = await ask('POST', '/batch', { atomic, requests })
        expect(status, text).to.equal(200)
        const [, then, , gone] = body.responses
        const titles = ({ items }: { items: Shown[] }) => items.map(({ object }) => object?.title)
        expect(titles(then.body)).to.deep.equal(['two', 'one'])
        expect(titles(gone.body)).to.deep.equal([undefined, 'two', 'one'])
        expect(gone.body.items[0].by).to.include({ subject: 'root', action: 'delete' })
      })
    }

    it('end with what is kept, are erased as those of others, and are closed where a compared field was erased', async () => {
      const deleted = async () => {
        const id = await made('papers', { ownerId: 'ann', title: 'one', secret: 's' })
        await ask('DELETE', `/papers/${id}`)
        return id
      }
      const erase = async (id: string, ...more: readonly string[]) => {
        const { code, stderr } = await sallyport(
          ['data', 'erase-history', '--resource', 'papers', '--id', id, ...more],
          { env: on.env },
        )
        expect(code, stderr).to.equal(0)
      }
      const [one, two, old] = [await deleted(), await deleted(), await deleted()]
      await erase(one, '--field', 'secret')
      expect((await historyOf(one)).body.items[1].object)
        .to.include({ title: 'one' })
        .and.not.have.property('secret')
      await erase(one, '--field', 'ownerId')
      expect((await historyOf(one)).status).to.equal(404)
      await erase(two)
      expect((await historyOf(two)).status).to.equal(404)
      await on.run(`update changes set at = '2001-01-01T00:00:00.000Z' where id = '${old}'`)
      expect((await historyOf(old)).status).to.equal(404)
      const kept = await deleted()
      await on.run(`delete from changes where id = '${kept}' and before_version is not null`)
      expect((await historyOf(kept)).status, 'nobody knows how it ended').to.equal(404)
    })

    it('are 403 for a role that could see none, as they are for a missing object', async () => {
      const id = await made('papers', { ownerId: 'ann' })
      await ask('DELETE', `/papers/${id}`)
      expect((await historyOf(id, await server.token('ann', DENIED_ROLE))).status).to.equal(403)
    })
  })
}

/** Whether each relation holds after the deletes; undefined where nobody can tell any more. */
function truthOf({ folder, members, marks, ownerId, status, ends }: DrawnPaper, who: string) {
  const inFolder = (isSo: boolean | undefined) => (folder === undefined ? false : ends.folder ? undefined : isSo)
  return {
    owner: ownerId === who,
    done: status === 'done',
    locked: inFolder(folder === 'locked'),
    member: inFolder(members.includes(who) || undefined),
    marked: (!ends.marks && marks.includes(who)) || undefined,
  } satisfies Record<NamedTerm, boolean | undefined>
}

/** What is shown whatever the truth is; undefined for nothing. `naive`: if all that nobody can tell were false. */
function expected(rules: readonly DrawnRule[], known: (name: NamedTerm) => boolean | undefined) {
  const unknown = NAMES.filter((name) => known(name) === undefined)
  const worlds = subsets(unknown).map((some) => fieldsOf(rules, (name) => known(name) ?? some.includes(name)))
  const isAllowed = worlds.every(({ size }) => size > 0)
  const naive = fieldsOf(rules, (name) => known(name) === true).size > 0
  return { naive, shown: isAllowed ? worlds.reduce((all, one) => all.intersection(one)) : undefined }
}

/** What rules grant: all that an allow names, without what a deny names. */
function fieldsOf(rules: readonly DrawnRule[], holds: (name: NamedTerm) => boolean): ReadonlySet<string> {
  const matching = rules.filter(({ terms }) => terms.every(({ name, not }) => holds(name) !== not))
  const of = (effect: string) =>
    new Set(matching.filter((one) => one.effect === effect).flatMap(({ view }) => VIEWS[view]))
  return of('allow').difference(of('deny'))
}

interface Shown {
  readonly object: { readonly title: string } | null
}
