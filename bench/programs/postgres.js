// node:http and pg without any check: the SELECT of our server for each read, and one durable INSERT for each create.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { v7 } from 'uuid'

const { PORT, DATABASE_URL, SELECT, INSERT } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL })

createServer(async (request, response) => {
  response.setHeader('content-type', 'application/json')
  const { status, body } = request.method === 'POST' ? await create(await text(request)) : await read(request.url)
  response.writeHead(status).end(body)
}).listen(Number(PORT), '127.0.0.1')

async function read(url) {
  const { rows } = await pool.query({ name: 'select', text: SELECT, values: [url.slice(url.lastIndexOf('/') + 1)] })
  const [note] = rows
  if (!note) return { status: 404, body: '{}' }
  const times = `"createdAt":"${note.created_at}","updatedAt":"${note.updated_at}"`
  return { status: 200, body: `{"id":"${note.id}",${times},${note.document.slice(1)}` }
}

async function create(body) {
  const [id, now] = [v7(), new Date().toISOString()]
  const document = { ...JSON.parse(body || '{}'), ownerId: 'u7' }
  const keys = Object.fromEntries(Object.entries(document).map(([field, value]) => [field, [`2${value}`]]))
  const values = [id, 1, now, now, JSON.stringify(document), JSON.stringify(keys), '{}']
  await pool.query({ name: 'insert', text: INSERT, values })
  return { status: 201, body: JSON.stringify({ id, createdAt: now, updatedAt: now, ...document }) }
}
