/** Runs the client against a server: `node src/example.ts http://127.0.0.1:3000 <token of a member>`; prints JSON. */
import { connect, type Problem, Refused } from './connect.ts'
import { allNotes, changeNote, makeNote, offersOf } from './notes.ts'

const [url = 'http://127.0.0.1:3000', token = ''] = process.argv.slice(2)
const api = connect(url, token)

const made = await makeNote(api, { title: 'buy milk', tags: [] })

const titles: (string | undefined)[] = []
for await (const note of allNotes(api)) titles.push(note.title)

// Ten writers at once: each adds its tag to those that are there, and none is lost.
const tags = Array.from({ length: 10 }, (_, i) => `tag ${i}`)
await Promise.all(tags.map((tag) => changeNote(api, made.id, (note) => ({ tags: [...(note.tags ?? []), tag] }))))
const changed = await api.GET('/api/v1/notes/{id}', { params: { path: { id: made.id } } })

const offers = await offersOf(api, made.id)

const faults = await problemOf(makeNote(api, { title: '', tags: ['x', 'x'] }))

const removed = await api.DELETE('/api/v1/notes/{id}', { params: { path: { id: made.id } } })
const gone = await api.GET('/api/v1/notes/{id}', { params: { path: { id: made.id } } })

const result = {
  made: made.title,
  titles,
  tags: changed.data?.tags?.toSorted(),
  offers,
  faults: faults?.errors?.map(({ pointer }) => pointer),
  removed: removed.response.status,
  gone: gone.error?.code,
}
process.stdout.write(`${JSON.stringify(result)}\n`)

async function problemOf(attempt: Promise<unknown>): Promise<Problem | undefined> {
  try {
    await attempt
  } catch (error) {
    if (error instanceof Refused) return error.problem
    throw error
  }
}
