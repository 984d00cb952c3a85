// node:http and node:sqlite without any check, and a durable commit for each create: what one fsync a create costs at least.
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { v7 } from 'uuid'

const database = new DatabaseSync(process.env.DATABASE)
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE notes (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID`)
const insert = database.prepare('INSERT INTO notes VALUES (?, ?)')

createServer(async (request, response) => {
  response.setHeader('content-type', 'application/json')
  if (request.method !== 'POST') {
    response.end(JSON.stringify({ id: request.url.split('/').at(-1) }))
    return
  }
  const id = v7()
  insert.run(id, JSON.stringify(JSON.parse((await text(request)) || '{}')))
  response.writeHead(201).end(JSON.stringify({ id }))
}).listen(Number(process.env.PORT), '127.0.0.1')
