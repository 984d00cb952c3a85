// Fastify on node:sqlite: what somebody writes who wants it to be quick.
import { DatabaseSync } from 'node:sqlite'
import { serveNotes } from './notes-app.js'

const database = new DatabaseSync(process.env.DATABASE)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
const byId = database.prepare('SELECT id, ownerId, title, body, createdAt FROM notes WHERE id = ?')

const string = { type: 'string' }
await serveNotes({
  idSchema: { type: 'integer', minimum: 1 },
  fields: { title: string, body: string, createdAt: string },
  find: (id) => byId.get(id),
})
