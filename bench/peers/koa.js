// Koa with well-known packages, as most people would write it: rate-limiter-flexible, jose, node-casbin, node:sqlite. With
// REDIS_PORT the limits are counted in Redis.
import { DatabaseSync } from 'node:sqlite'
import Router from '@koa/router'
import { newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import { Redis } from 'ioredis'
import { jwtVerify } from 'jose'
import Koa from 'koa'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'

const { PORT, DATABASE, SECRET, ISSUER, AUDIENCE, REDIS_PORT } = process.env

// jose imports raw bytes anew with each token, and a CryptoKey once.
const bytes = new TextEncoder().encode(SECRET)
const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])

// The cheap comparisons stand first.
const MODEL = `[request_definition]
r = role, obj, act
[policy_definition]
p = role, obj, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.role == p.role && r.obj == p.obj && r.act == p.act`
const rules = ['member', 'admin'].flatMap((role) =>
  ['list', 'read', 'create', 'update', 'delete'].map((action) => `p, ${role}, notes, ${action}`),
)
const enforcer = await newEnforcer(newModelFromString(MODEL), new StringAdapter(rules.join('\n')))

const limit = { points: 1_000_000_000, duration: 60 }
const limiter = REDIS_PORT
  ? new RateLimiterRedis({ storeClient: new Redis({ port: Number(REDIS_PORT), enableAutoPipelining: true }), ...limit })
  : new RateLimiterMemory(limit)

const database = new DatabaseSync(DATABASE)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
const byId = database.prepare('SELECT id, ownerId, title, body, createdAt FROM notes WHERE id = ?')

const limitRate = async (ctx, next) => {
  const state = await limiter.consume(ctx.ip).catch((refusal) => {
    if (refusal instanceof Error) throw refusal
    ctx.set('Retry-After', String(Math.ceil(refusal.msBeforeNext / 1000)))
    ctx.throw(429)
  })
  ctx.set('RateLimit-Limit', String(limit.points))
  ctx.set('RateLimit-Remaining', String(state.remainingPoints))
  ctx.set('RateLimit-Reset', String(Math.ceil(state.msBeforeNext / 1000)))
  await next()
}

const authenticate = async (ctx, next) => {
  const [scheme, token] = ctx.get('Authorization').split(' ')
  if (scheme !== 'Bearer' || !token) ctx.throw(401)
  const expected = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'] }
  const { payload } = await jwtVerify(token, key, expected).catch(() => ctx.throw(401))
  ctx.state.user = payload
  await next()
}

const allow = (resource, action) => async (ctx, next) => {
  if (!enforcer.enforceSync(ctx.state.user.role, resource, action)) ctx.throw(403)
  await next()
}

const router = new Router({ prefix: '/api/v1' })
router.get('/notes/:id', authenticate, allow('notes', 'read'), (ctx) => {
  const id = Number(ctx.params.id)
  if (!Number.isSafeInteger(id)) ctx.throw(400)
  const note = byId.get(id)
  if (!note) ctx.throw(404)
  const { sub, role } = ctx.state.user
  if (role !== 'admin' && note.ownerId !== sub) ctx.throw(403)
  ctx.body = note
})

const app = new Koa()
// Refusals are answers, not faults of the program.
app.silent = true
app.use(limitRate).use(router.routes()).use(router.allowedMethods()).listen(Number(PORT), '127.0.0.1')
