// json-server 0.17: what people start with. It keeps all objects in memory, and checks nothing.
import { readFileSync } from 'node:fs'
import jsonServer from 'json-server'

const { PORT, NOTES } = process.env
const server = jsonServer.create()
server.use(jsonServer.defaults({ logger: false }))
server.use('/api/v1', jsonServer.router({ notes: JSON.parse(readFileSync(NOTES, 'utf8')) }))
server.listen(Number(PORT), '127.0.0.1')
