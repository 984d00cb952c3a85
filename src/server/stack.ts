/** The path of one request: Koa middleware in this order, one stage a file (src/server/stages/). */
import Koa from 'koa'
import { Queues } from '../base/queues.ts'
import { type Most, UnderWay } from '../base/under-way.ts'
import type { LogShares } from '../decision-log/log-shares.ts'
import type { TokenVerifier } from '../identity/caller.ts'
import type { Resources } from '../resources/resource.ts'
import type { Store, Transactions } from '../store/contract.ts'
import type { Directory } from '../store/directory.ts'
import { readForwarded } from './authzen/forward.ts'
import { holding } from './batch/hold-requests.ts'
import type { ClientAddress } from './http/client-address.ts'
import { type AskInMemory, inMemory } from './http/in-memory.ts'
import type { PolicyChannel } from './policy-changes/follow-versions.ts'
import type { Batches, Services } from './routes/handler.ts'
import { createRouters, type EventTeller, routes } from './routes/router.ts'
import { tooManyUnderWay } from './slices.ts'
import { type AnswerParts, answer, refuseWhileDraining } from './stages/answer.ts'
import { authenticate } from './stages/authenticate.ts'
import { authorize } from './stages/authorize.ts'
import { limitRate, type RateLimiter, refuseFloods } from './stages/limit-rate.ts'
import { match } from './stages/match.ts'
import { refusePathMethodToken, requirePolicy } from './stages/refuse-undecided.ts'
import { Stages } from './stages/state.ts'
import { validate } from './stages/validate.ts'
import type { Tracing } from './telemetry/tracing.ts'

export interface StackParts extends AnswerParts {
  readonly resources: Resources
  readonly store: Store
  readonly services: Omit<Services, 'batches'>
  readonly verifier: TokenVerifier
  /** The same verifier, which asks this directory. */
  readonly verifierOn?: (directory: Directory) => TokenVerifier
  /** For atomic batches. */
  readonly transactions?: Transactions | undefined
  readonly rateLimiter: RateLimiter
  readonly logShares: LogShares
  readonly clientAddress: ClientAddress
  /** Undefined for a policy from a folder. */
  readonly channel: PolicyChannel | undefined
  /** Undefined where no resource has events. */
  readonly events?: EventTeller | undefined
  /** Undefined where no traces are sent. */
  readonly tracing?: Tracing | undefined
}

export function useStages(app: Koa, parts: StackParts): void {
  const { resources, store, verifier, rateLimiter, logShares, clientAddress, channel, tracing } = parts
  const services = { ...parts.services, batches: batchesOf(parts) }
  const { changes, access } = services
  const gate = { resources, store, changes, slices: access.slices, events: parts.events }
  const routers = createRouters(resources.routes, services, gate)
  if (tracing) app.use(tracing.request())
  new Stages(app, tracing)
    // Every error becomes a problem, every answer has its headers and its record.
    .use(answer(parts))
    .use(match(routers))
    .use(refuseWhileDraining(parts.shutdown))
    .use(refuseFloods(rateLimiter, clientAddress))
    // For a gateway: from here on, the request is its client's.
    .use(readForwarded({ resources, store }, verifier))
    .use(authenticate(verifier, { resources, store }), 'authenticate')
    .use(limitRate(rateLimiter, logShares, parts.unread))
    // 400, 404, 405, 401 and 410: only now, so that they count against the rate limits.
    .use(refusePathMethodToken(resources))
    .use(requirePolicy(channel))
    // The one authorization middleware, for every method of every route.
    .use(authorize(gate), 'decide')
    .use(validate())
    .use(routes())
}

/** Each keeps its body and its answers, and atomic ones of one caller wait for one another. */
const MOST_BATCHES: Most = { ofCaller: 8, ofAll: 64 }

/**
 * The requests of batches go through the same stages. The routes of the server itself, batches too, are none of theirs,
 * and neither are streams of events.
 */
function batchesOf(parts: StackParts): Batches {
  const { transactions, verifierOn } = parts
  let ask: AskInMemory | undefined
  /** One caller has one transaction at a time: others wait behind each for a second at most. */
  const queues = new Queues()
  return {
    underWay: new UnderWay(MOST_BATCHES, () => tooManyUnderWay('batches')),
    ask: (...asked) => {
      ask ??= askParts(parts)
      return ask(...asked)
    },
    atomically:
      transactions && verifierOn
        ? (whose, work) =>
            queues.run(whose, () =>
              holding(transactions, parts, ({ store, directory, changes, keep }, held) => {
                const services = { ...parts.services, store, ...(parts.services.changes && { changes }) }
                const inside = { ...parts, ...held, store, services, verifier: verifierOn(directory) }
                return work({ ask: askParts(inside), keep })
              }),
            )
        : undefined,
  }
}

function askParts(parts: StackParts): AskInMemory {
  const { byName, routes } = parts.resources
  const koa = new Koa()
  useStages(koa, {
    ...parts,
    resources: { byName, routes: routes.filter(({ resource, events }) => !byName.get(resource)?.builtIn && !events) },
    // A batch is a request in flight.
    shutdown: { begun: false },
  })
  return inMemory(koa)
}
