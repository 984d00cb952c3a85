/** Runs the client against a server: `node src/example.ts http://127.0.0.1:3000 <token of a member>`; prints JSON. */
import { ApiProblem, connect } from '../generated/api.ts'
import { changeNote, makeNote, mistakesIn, offersOf, titlesOf } from './notes.ts'

const [url = 'http://127.0.0.1:3000', token = ''] = process.argv.slice(2)
const api = connect({ url, token })

const made = await makeNote(api, { title: 'buy milk', tags: [] })

const titles = await titlesOf(api)

// Ten writers at once: each adds its tag to those that are there, and none is lost.
const tags = Array.from({ length: 10 }, (_, i) => `tag ${i}`)
await Promise.all(tags.map((tag) => changeNote(api, made.id, (note) => ({ tags: [...(note.tags ?? []), tag] }))))
const changed = await api.notes.get(made.id)

const offers = await offersOf(api, made.id)

const faults = await mistakesIn(api, { title: '', tags: ['x', 'x'] })

await api.notes.delete(changed)
const gone = await api.notes.get(made.id).catch((error) => (error instanceof ApiProblem ? error.code : error))

const result = {
  made: made.title,
  titles,
  tags: changed.tags?.toSorted(),
  offers,
  faults: faults?.map(({ pointer }) => pointer),
  gone,
}
process.stdout.write(`${JSON.stringify(result)}\n`)
