// Fastify as the peers have it, with their packages, but with pg in place of node:sqlite: compiled schemas, tokens kept
// after they were verified, rate limits, CASL, and the SELECT of our server.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import pg from 'pg'

const { PORT, DATABASE_URL, SELECT, PEERS } = process.env
const require = createRequire(`${PEERS}/package.json`)
const load = (name) => import(pathToFileURL(require.resolve(name)).href)
const [fastify, jwt, rateLimit, { AbilityBuilder, createMongoAbility, subject }] = await Promise.all(
  ['fastify', '@fastify/jwt', '@fastify/rate-limit', '@casl/ability'].map(load),
)
const { secret, ISS, AUD, HUGE } = await import(pathToFileURL(`${PEERS}/fixture.mjs`).href)

const pool = new pg.Pool({ connectionString: DATABASE_URL })

const string = { type: 'string' }
const note = { id: string, ownerId: string, title: string, body: string, createdAt: string, updatedAt: string }
const schema = {
  params: { type: 'object', properties: { id: { type: 'string', format: 'uuid' } }, required: ['id'] },
  response: { 200: { type: 'object', properties: note } },
}

const app = fastify.default()
await app.register(rateLimit.default, { max: HUGE, timeWindow: '1 minute' })
await app.register(jwt.default, {
  secret,
  verify: { algorithms: ['HS256'], allowedIss: ISS, allowedAud: AUD, cache: true },
})
app.get('/api/v1/notes/:id', { schema, onRequest: (request) => request.jwtVerify() }, read)
await app.listen({ port: Number(PORT) })

async function read(request, reply) {
  const { rows } = await pool.query({ name: 'select', text: SELECT, values: [request.params.id] })
  const [row] = rows
  if (!row) return reply.code(404).send({ error: 'not found' })
  const found = { ...JSON.parse(row.document), id: row.id, createdAt: row.created_at, updatedAt: row.updated_at }
  if (!abilityOf(request.user).can('read', subject('Note', found))) return reply.code(403).send({ error: 'forbidden' })
  return found
}

function abilityOf({ role, sub }) {
  const { can, build } = new AbilityBuilder(createMongoAbility)
  if (role === 'admin') can('manage', 'Note')
  else {
    can('create', 'Note')
    can(['read', 'update', 'delete'], 'Note', { ownerId: sub })
  }
  return build()
}
