// Not part of the program: test/stage-types.test.ts compiles it and expects the errors that it names.
import type { Resources } from '../../src/resources/resource.ts'
import type { Routers } from '../../src/resources/routing/match-route.ts'
import type { StackParts, useStages } from '../../src/server/stack.ts'
import { answer } from '../../src/server/stages/answer.ts'
import { authorize } from '../../src/server/stages/authorize.ts'
import { match } from '../../src/server/stages/match.ts'
import { refusePathMethodToken } from '../../src/server/stages/refuse-undecided.ts'
import { type Matched, type Stage, Stages } from '../../src/server/stages/state.ts'
import { validate } from '../../src/server/stages/validate.ts'

export function outOfOrder(
  app: Parameters<typeof useStages>[0],
  parts: StackParts,
  gate: Parameters<typeof authorize>[0],
  routers: Routers,
): void {
  const resources: Resources = parts.resources
  new Stages(app)
    .use(answer(parts))
    .use(authorize(gate)) // error: nobody has found a route yet
    .use(match(routers))
  new Stages(app).use(answer(parts)).use(match(routers)).use(refusePathMethodToken(resources)) // error: nobody has found out who asks
  new Stages(app).use(answer(parts)).use(match(routers)).use(validate()) // error: nobody has authorized the request
}

export function takesWhatItOnlyReads(): Stage<Matched> {
  return (ctx, next) => {
    ctx.state.match = { kind: 'unknown-path' } // error: another stage leaves it
    return next()
  }
}
