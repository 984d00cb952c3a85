// The same on PostgreSQL: the table and the SELECT are those of Sallyport, so that the database does the same work.
import pg from 'pg'
import { serveNotes } from './notes-app.js'

const { DATABASE_URL, SELECT } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL })

const string = { type: 'string' }
await serveNotes({
  idSchema: { type: 'string', format: 'uuid' },
  fields: { title: string, body: string, createdAt: string, updatedAt: string },
  find: async (id) => {
    const { rows } = await pool.query({ name: 'select', text: SELECT, values: [id] })
    const [row] = rows
    return row && { ...JSON.parse(row.document), id: row.id, createdAt: row.created_at, updatedAt: row.updated_at }
  },
})
