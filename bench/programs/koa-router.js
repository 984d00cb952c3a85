// Koa and @koa/router with a constant answer: the limit of the framework, and the bare Koa program that a start is held to.
import Router from '@koa/router'
import Koa from 'koa'

const body = JSON.parse(process.env.BODY)
const headers = JSON.parse(process.env.HEADERS ?? '{}')
const router = new Router()
router.get('/api/v1/notes/:id', (ctx) => {
  ctx.set(headers)
  ctx.body = body
})
new Koa().use(router.routes()).use(router.allowedMethods()).listen(Number(process.env.PORT), '127.0.0.1')
