// Fastify with one guarded route, written for speed: compiled schemas, a rate limit, tokens, CASL.
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { canRead } from './abilities.js'
import { authenticate } from './tokens.js'

const MOST_A_MINUTE = 1_000_000_000
const string = { type: 'string' }

/** `idSchema`: of an id. `find(id)`: the note or undefined, or a promise. `fields`: the schemas of the answer's fields. */
export async function serveNotes({ idSchema, fields, find }) {
  const app = fastify()
  await app.register(rateLimit, { max: MOST_A_MINUTE, timeWindow: '1 minute' })
  app.decorateRequest('user', null)
  const schema = {
    params: { type: 'object', properties: { id: idSchema }, required: ['id'] },
    response: { 200: { type: 'object', properties: { id: idSchema, ownerId: string, ...fields } } },
  }
  app.get('/api/v1/notes/:id', { schema, onRequest: authenticate }, async (request, reply) => {
    const note = await find(request.params.id)
    if (!note) return reply.code(404).send({ error: 'not found' })
    if (!canRead(request.user, note)) return reply.code(403).send({ error: 'forbidden' })
    return note
  })
  await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
}
