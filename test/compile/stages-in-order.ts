// Not part of the program: test/stage-types.test.ts compiles it and expects no error.
import Koa from 'koa'
import { type Stage, Stages } from '../../src/server/stages/state.ts'

interface Identified {
  readonly id: string
}

function identify(): Stage<object, Identified> {
  return (ctx, next) => {
    ctx.state.id = ctx.get('X-Id')
    return next()
  }
}

function greet(): Stage<Identified> {
  return (ctx) => {
    ctx.body = ctx.state.id.toUpperCase()
  }
}

new Stages(new Koa()).use(identify()).use(greet())
