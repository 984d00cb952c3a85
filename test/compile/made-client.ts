// Not part of the program: test/openapi/made-client.test.ts makes the clients, compiles this, and runs it against a server.
import { ApiProblem, type Client, connect, type ProblemCode } from '../../examples/typescript-client/generated/made.ts'
import {
  connect as connectReferring,
  ApiProblem as ReferringProblem,
} from '../../examples/typescript-client/generated/referring.ts'

/** Five notes, and their titles in the order of a list of several pages. */
export async function readAll(api: Client): Promise<readonly (string | undefined)[]> {
  for (const title of ['a', 'b', 'c', 'd', 'e']) await api.notes.create({ title })
  const titles: (string | undefined)[] = []
  for await (const note of api.notes.list({
    sort: ['createdAt'],
    limit: 2,
    'createdAt[gte]': '2000-01-01T00:00:00Z',
  })) {
    titles.push(note.title)
  }
  return titles
}

/** Two writers with one state: what the second one gets. */
export async function loseAnUpdate(api: Client): Promise<unknown> {
  const { id } = await api.notes.create({ title: 'first' })
  const [one, two] = [await api.notes.get(id), await api.notes.get(id)]
  const changed = await api.notes.update(one, { title: 'second', body: null })
  await api.notes.update(changed, [{ op: 'replace', path: '/title', value: 'third' }])
  const problem = await problemOf(api.notes.update(two, { title: 'lost' }))
  const code: ProblemCode | 'unreadable-answer' | undefined = problem?.code
  const kept = await api.notes.get(id, { can: true })
  const { id: _, ownerId: _owner, createdAt: _c, updatedAt: _u, can, ...fields } = kept
  const replaced = await api.notes.replace(kept, { ...fields, title: `${fields.title}, replaced` })
  await api.notes.delete(replaced)
  return {
    status: problem?.status,
    code,
    attempts: problem?.attempts,
    kept: kept.title,
    can: can?.actions,
    replaced: replaced.title,
  }
}

/** The profile is an object that its path names; that of others is a part of them. */
export async function ownProfile(api: Client): Promise<unknown> {
  const mine = await api.profile.get()
  const changed = await api.profile.update(mine, { bio: 'new' })
  return [changed.bio, (await api.profile.byId.get(mine.id)).displayName === mine.displayName]
}

/** A collection under its parent, the parent beside a row, sums, and a batch. */
export async function inAWorldOfReferences(url: string, token: string): Promise<unknown> {
  const api = connectReferring({ url, token })
  const { id = '' } = await api.projects.create({})
  const made = await api.projects.tasks(id).create({})
  const expanded: unknown[] = []
  for await (const task of api.projects.tasks(id).list({ expand: ['projectId'] })) {
    expanded.push(task.expanded?.projectId?.id === id)
  }
  const groups = await api.tasks.aggregate({ aggregate: ['count'] })
  const page = await api.tasks.page({ count: 'exact', limit: 1 })
  await api.tasks.update(made, { parentId: null })
  const { responses } = await api.batch({
    requests: [
      { id: 'one', method: 'POST', path: '/projects', body: {} },
      { id: 'two', method: 'GET', path: '/projects/{one.id}' },
    ],
  })
  const undone = await problemOf(
    api.batch({
      atomic: true,
      requests: [
        { id: 'one', method: 'POST', path: '/projects', body: {} },
        { id: 'two', method: 'GET', path: '/projects/none' },
      ],
    }),
  )
  const parts = undone?.problem?.responses?.map((one) => one.status)
  return {
    expanded,
    groups,
    total: page.total,
    statuses: responses.map(({ status }) => status),
    undone: undone?.code,
    parts,
  }
}

/** A command: with the object that was read, and again in a state that the rules don't let it begin with. */
export async function placeAnOrder(url: string, token: string): Promise<unknown> {
  const api = connectReferring({ url, token })
  const order = await api.orders.create({ currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }] })
  const placed = await api.orders.place(order, { note: 'soon' })
  const late = await problemOf(api.orders.place(order, {}, { idempotencyKey: 'again' }))
  return [placed.status, placed.note, late?.code]
}

/** A command that creates a note, on a way that loses its answer, with an old tag, and twice with one key. */
export async function announceAnOrder(url: string, lossyUrl: string, token: string): Promise<unknown> {
  const api = connectReferring({ url, token })
  const order = await api.orders.create({ currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }] })
  const announced = await connectReferring({ url: lossyUrl, token }).orders.announce(order, { note: 'lost' })
  const changed = await api.orders.update(announced, { note: 'later' })
  const late = await problemOf(api.orders.announce(announced, { note: 'never' }))
  const key = { idempotencyKey: 'announced-once' }
  const first = await api.orders.announce(changed, { note: 'once' }, key)
  const second = await api.orders.announce(changed, { note: 'once' }, key)
  const other = await problemOf(api.orders.announce(changed, { note: 'another' }, key))
  const unmatched = await api.orders.announce(changed, { note: 'forced' }, { ifMatch: '*' })
  const notes: (string | undefined)[] = []
  for await (const { body } of api.notes.list()) notes.push(body)
  return {
    answers: [announced.id === order.id, announced.note, first.note, second.updatedAt === first.updatedAt],
    refused: [late?.code, other?.code],
    forced: unmatched.note,
    notes: notes.toSorted(),
  }
}

export async function problemOf(work: Promise<unknown>): Promise<ApiProblem | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof ApiProblem || error instanceof ReferringProblem) return error as ApiProblem
    throw error
  }
}

export { connect }

export async function mistakes(api: Client): Promise<void> {
  const note = await api.notes.get('1')
  void api.notes.create({}) // error: no title
  void api.notes.create({ title: 't', id: '1' }) // error: the server makes the id
  void api.notes.create({ title: 5 }) // error: no text
  void api.notes.list({ sort: ['title'] }) // error: no order by title
  void api.notes.list({ cursor: 'c' }) // error: it follows the cursors itself
  void api.notes.list({ colour: 'red' }) // error: no such field
  void api.notes.aggregate({ by: ['ownerId'] }) // error: nothing to compute
  void api.notes.update(note, { colour: 'red' }) // error: no such field
  void api.notes.update({ ...note, id: 5 }, {}) // error: no note
  for await (const row of api.notes.list()) void api.notes.update(row, {}) // error: a row has no tag
  void api.accounts.delete('1') // error: nobody deletes accounts
  void api.accounts.balance.update('1', {}) // error: a part is read only
  void api.profile.get('alice') // error: its path has no id
  note.createdAt = '2026-01-01T00:00:00Z' // error: the server makes it
  const problem = await problemOf(api.notes.get('1'))
  if (problem?.code === 'no-such-code') return // error: no code of the server
  connect({ url: '', tokn: '' }) // error: no such option
}

export async function mistakesInCommands(api: ReturnType<typeof connectReferring>): Promise<void> {
  for await (const row of api.orders.list()) void api.orders.announce(row, {}) // error: a row has no tag
  void api.orders.announce('1', { colour: 'red' }) // error: no such input
  void api.orders.announce('1', {}, { after: '1' }) // error: no such option
  void (await api.orders.announce('1', {})).notes // error: the answer is the order
  void api.notes.announce('1', {}) // error: a command of orders
}
