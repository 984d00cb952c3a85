/** References between objects (`x-reference`): what a write may name, and what a delete does with those that refer. */
import { expect } from 'chai'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import type { TestServer } from '../server.ts'
import { REFERRING } from './referring-world.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`references, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let tokens: OnEngine['tokens']

    before(async () => {
      on = await startOn({ files: REFERRING })
      ;({ server, tokens } = on)
    })
    after(() => on.stop())

    const ask = (who: string, method: string, path: string, body?: unknown) =>
      server.ask(method, path, { token: tokens[who], ...(body === undefined ? {} : { body }) })

    async function make(who: string, resource: string, body: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const made = await ask(who, 'POST', `/${resource}`, { ownerId: who, ...body })
      expect([made.status, made.text], `${resource} of ${who}`).to.satisfy(([status]: [number]) => status === 201)
      return made.body.id
    }

    const statusOf = async (resource: string, id: string) => (await ask('ada', 'GET', `/${resource}/${id}`)).status
    const objectOf = async (resource: string, id: string) => (await ask('ada', 'GET', `/${resource}/${id}`)).body

    it('are made to objects that the writer may read, and to no other: what can not be read is as if missing', async () => {
      const own = await make('alice', 'projects')
      await make('alice', 'tasks', { projectId: own })
      const other = await make('bob', 'projects')
      const [hidden, missing] = await Promise.all(
        [other, 'nowhere'].map((projectId) => ask('alice', 'POST', '/tasks', { ownerId: 'alice', projectId })),
      )
      for (const { status, body } of [hidden, missing].filter((one) => one !== undefined)) {
        expect([status, body.code]).to.deep.equal([409, 'reference-missing'])
        expect(body.errors).to.deep.equal([
          { pointer: '/projectId', detail: 'names no object that this caller may read', code: 'reference' },
        ])
      }
      const withoutId = ({ instance: _, ...rest }: Record<string, unknown>) => rest
      expect(withoutId(hidden?.body)).to.deep.equal(withoutId(missing?.body))
      expect(await server.lastDecision({ problem: 'reference-missing' })).to.include({ resource: 'tasks', status: 409 })
    })

    it('are asked by PUT, PATCH and JSON Patch where they change, and not where they stay', async () => {
      const project = await make('alice', 'projects')
      const task = await make('alice', 'tasks', { projectId: project })
      const path = `/tasks/${task}`
      const patch = [{ op: 'replace', path: '/projectId', value: 'nowhere' }]
      const answers = [
        await ask('alice', 'PUT', path, { ownerId: 'alice', projectId: 'nowhere' }),
        await ask('alice', 'PATCH', path, { projectId: 'nowhere' }),
        await server.ask('PATCH', path, {
          token: tokens.alice,
          body: patch,
          headers: { 'content-type': 'application/json-patch+json' },
        }),
      ]
      for (const { status, body } of answers) expect([status, body.code]).to.deep.equal([409, 'reference-missing'])
      // The project is somebody else's now.
      await ask('ada', 'PATCH', `/projects/${project}`, { ownerId: 'bob' })
      expect((await ask('alice', 'PATCH', path, { ownerId: 'alice', projectId: project })).status).to.equal(200)
      expect((await ask('alice', 'PATCH', path, { seenWith: task })).status).to.equal(200)
      expect(await objectOf('tasks', task)).to.include({ projectId: project, seenWith: task })
    })

    it('tell a caller who can not read the field nothing of its value', async () => {
      const project = await make('bob', 'projects')
      const task = await make('bob', 'tasks', { projectId: project })
      const [same, other] = [
        await ask('sue', 'PATCH', `/tasks/${task}`, { projectId: project }),
        await ask('sue', 'PATCH', `/tasks/${task}`, { projectId: 'nowhere' }),
      ]
      expect([same.status, other.status]).to.deep.equal([409, 409])
    })

    it('`restrict`: an object that others refer to stays', async () => {
      const project = await make('alice', 'projects')
      const contract = await make('alice', 'contracts', { projectId: project })
      const { status, body } = await ask('alice', 'DELETE', `/projects/${project}`)
      expect([status, body.code]).to.deep.equal([409, 'referenced'])
      expect(await statusOf('projects', project)).to.equal(200)
      await ask('alice', 'DELETE', `/contracts/${contract}`)
      expect((await ask('alice', 'DELETE', `/projects/${project}`)).status).to.equal(204)
    })

    it('`null`: those that refer have null, or lack the field where it takes none, and a new version', async () => {
      const [task, child] = [await make('alice', 'tasks'), await make('bob', 'tasks')]
      await ask('ada', 'PATCH', `/tasks/${child}`, { parentId: task, seenWith: task })
      const before = await ask('ada', 'GET', `/tasks/${child}`)
      expect((await ask('alice', 'DELETE', `/tasks/${task}`)).status).to.equal(204)
      const after = await ask('ada', 'GET', `/tasks/${child}`)
      expect(after.body).to.include({ parentId: null })
      expect(after.body).not.to.have.property('seenWith')
      expect(after.headers.get('etag')).not.to.equal(before.headers.get('etag'))
      expect(await server.lastDecision({ method: 'DELETE', objectId: task })).to.deep.include({
        along: { changed: [{ resource: 'tasks', objectId: child }], deleted: [] },
      })
    })

    it('`null`: an object that would not fit its schema without it keeps what it refers to', async () => {
      const task = await make('alice', 'tasks')
      const pledge = await make('alice', 'pledges', { taskId: task, text: 'promised' })
      const { status, body } = await ask('alice', 'DELETE', `/tasks/${task}`)
      expect([status, body.code]).to.deep.equal([409, 'referenced'])
      expect((await objectOf('pledges', pledge)).taskId).to.equal(task)
      // The negative control: without a text, a pledge needs no task.
      expect((await ask('alice', 'PATCH', `/pledges/${pledge}`, { text: null })).status).to.equal(200)
      expect((await ask('alice', 'DELETE', `/tasks/${task}`)).status).to.equal(204)
      expect(await objectOf('pledges', pledge)).to.not.have.property('taskId')
    })

    it('`cascade`: those that refer go too, and those that refer to them, through circles', async () => {
      const project = await make('alice', 'projects')
      const tasks = [
        await make('alice', 'tasks', { projectId: project }),
        await make('alice', 'tasks', { projectId: project }),
      ]
      const remarks = [
        await make('alice', 'remarks', { taskId: tasks[0] }),
        await make('alice', 'remarks', { taskId: tasks[1] }),
      ]
      // Refers to what goes, and goes along.
      await ask('alice', 'PATCH', `/tasks/${tasks[0]}`, { parentId: tasks[1] })
      await ask('alice', 'PATCH', `/tasks/${tasks[1]}`, { parentId: tasks[0] })
      const outside = await make('alice', 'tasks', { parentId: tasks[0] })
      expect((await ask('alice', 'DELETE', `/projects/${project}`)).status).to.equal(204)
      for (const id of tasks) expect(await statusOf('tasks', id)).to.equal(404)
      for (const id of remarks) expect(await statusOf('remarks', id)).to.equal(404)
      expect(await objectOf('tasks', outside)).to.include({ parentId: null })
      const record = await server.lastDecision({ method: 'DELETE', objectId: project })
      const along = record?.along as { changed: { objectId: string }[]; deleted: { objectId: string }[] }
      expect(along.deleted.map(({ objectId }) => objectId)).to.have.members([...tasks, ...remarks])
      expect(along.changed.map(({ objectId }) => objectId)).to.deep.equal([outside])
    })

    it('`cascade`: nothing goes where the caller may not delete each, or where another reference forbids it', async () => {
      const project = await make('alice', 'projects')
      const task = await make('alice', 'tasks', { projectId: project })
      const remark = await make('alice', 'remarks', { taskId: task })
      await ask('ada', 'PATCH', `/remarks/${remark}`, { ownerId: 'bob' })
      const refused = await ask('alice', 'DELETE', `/projects/${project}`)
      expect([refused.status, refused.body.code]).to.deep.equal([409, 'referenced'])
      await ask('ada', 'PATCH', `/remarks/${remark}`, { ownerId: 'alice' })
      const contract = await make('alice', 'contracts', { taskId: task })
      expect((await ask('alice', 'DELETE', `/projects/${project}`)).body.code).to.equal('referenced')
      expect([
        await statusOf('projects', project),
        await statusOf('tasks', task),
        await statusOf('remarks', remark),
      ]).to.deep.equal([200, 200, 200])
      await ask('alice', 'DELETE', `/contracts/${contract}`)
      expect((await ask('alice', 'DELETE', `/projects/${project}`)).status).to.equal(204)
    })

    it('a delete takes at most a thousand objects along', async () => {
      const project = await make('alice', 'projects')
      const documents = Array.from({ length: 1001 }, (_, n) => ({
        id: `many-${n}`,
        document: { ownerId: 'alice', projectId: project },
      }))
      await server.app.seeding.insert('tasks', documents)
      const { status, body } = await ask('alice', 'DELETE', `/projects/${project}`)
      expect([status, body.code]).to.deep.equal([409, 'referenced'])
      expect(body.detail).to.match(/More than 1000 objects/)
      expect((await ask('alice', 'DELETE', '/tasks/many-0')).status).to.equal(204)
      expect((await ask('alice', 'DELETE', `/projects/${project}`)).status).to.equal(204)
      expect(await statusOf('tasks', 'many-1000')).to.equal(404)
    })

    it('a delete counts an object once, by however many fields it refers to what goes', async () => {
      const project = await make('alice', 'projects')
      const documents = Array.from({ length: 1000 }, (_, n) => ({
        id: `each-${n}`,
        document: { ownerId: 'alice', projectId: project, parentId: 'each-0', seenWith: 'each-1' },
      }))
      await server.app.seeding.insert('tasks', documents)
      expect((await ask('alice', 'DELETE', `/projects/${project}`)).status).to.equal(204)
      for (const n of [0, 1, 999]) expect(await statusOf('tasks', `each-${n}`)).to.equal(404)
    })

    it('a delete asks once what refers to all objects that go at one step', async () => {
      const { store } = server.app
      const { list } = store
      const project = await make('alice', 'projects')
      const documents = Array.from({ length: 50 }, (_, n) => ({
        id: `step-${n}`,
        document: { ownerId: 'alice', projectId: project },
      }))
      await server.app.seeding.insert('tasks', documents)
      let lists = 0
      store.list = (...asked) => {
        lists += 1
        return list.apply(store, asked)
      }
      try {
        expect((await ask('alice', 'DELETE', `/projects/${project}`)).status).to.equal(204)
      } finally {
        store.list = list
      }
      // Tasks of the project; tasks by two fields, remarks and pledges, of all these tasks.
      expect(lists).to.equal(5)
    })

    it('an object that meanwhile refers to another one is neither deleted nor changed', async () => {
      const { store } = server.app
      const { list } = store
      const [first, second] = [await make('alice', 'projects'), await make('alice', 'projects')]
      const [parent, other] = [await make('alice', 'tasks'), await make('alice', 'tasks')]
      const moved = await make('alice', 'tasks', { projectId: first, seenWith: parent })
      for (const [path, change] of [
        [`/projects/${first}`, { projectId: second }],
        [`/tasks/${parent}`, { seenWith: other }],
      ] as const) {
        let moves = 0
        store.list = async (...asked) => {
          const found = await list.apply(store, asked)
          if (found.some(({ id }) => id === moved)) {
            moves += 1
            expect((await ask('ada', 'PATCH', `/tasks/${moved}`, change)).status).to.equal(200)
          }
          return found
        }
        try {
          expect((await ask('alice', 'DELETE', path)).status, path).to.equal(204)
        } finally {
          store.list = list
        }
        expect(moves).to.equal(1)
        expect(await objectOf('tasks', moved)).to.include(change)
      }
    })

    it('stay true while writers race: nothing refers to an object that is gone', async () => {
      for (let round = 0; round < 10; round += 1) {
        const project = await make('alice', 'projects')
        const own = { ownerId: 'alice', projectId: project }
        const answers = await Promise.all([
          ...Array.from({ length: 5 }, () => ask('alice', 'POST', '/contracts', own)),
          ask('alice', 'DELETE', `/projects/${project}`),
          ...Array.from({ length: 5 }, () => ask('alice', 'POST', '/tasks', own)),
        ])
        const isGone = (await statusOf('projects', project)) === 404
        const made = answers.filter(({ status }) => status === 201)
        for (const { headers } of made) {
          const status = (await ask('ada', 'GET', headers.get('location') ?? '')).status
          if (isGone) expect(status, 'an object that refers to what is gone').to.equal(404)
          else expect(status).to.equal(200)
        }
        for (const { status } of answers) expect(status).to.be.oneOf([201, 204, 409])
      }
    })

    it('would not be true if nobody asked: a field without a reference names anything', async () => {
      const remark = await make('alice', 'remarks', { text: 'nowhere' })
      expect(await objectOf('remarks', remark)).to.include({ text: 'nowhere' })
    })
  })
}
