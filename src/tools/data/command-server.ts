/**
 * The stages of the server in the process of a command, for one caller, on a database that a server may have open. No
 * other process reaches it: it listens on a socket in a folder of this user's own, and only this command has the token.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { commandProcess } from '../../base/command-process.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { LogShares } from '../../decision-log/log-shares.ts'
import { requiredRecorder } from '../../decision-log/recorder.ts'
import type { Authentication, TokenVerifier } from '../../identity/caller.ts'
import { createStanding } from '../../identity/directory/standing.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { Turns } from '../../server/access/asker.ts'
import { createCors } from '../../server/answers/cors.ts'
import { createHttpServer } from '../../server/http/http-server.ts'
import { runStages } from '../../server/http/run-stages.ts'
import { UnreadAnswers } from '../../server/http/unread-answers.ts'
import { createFaultLog } from '../../server/observe/fault-log.ts'
import { createLog } from '../../server/observe/log.ts'
import { createDescribe } from '../../server/openapi/document.ts'
import { openPolicy } from '../../server/parts/open-policy.ts'
import type { OpenedPolicy } from '../../server/parts/opened-policy.ts'
import { Cursors } from '../../server/routes/cursor.ts'
import { EntityTags } from '../../server/routes/entity-tag.ts'
import type { Services } from '../../server/routes/handler.ts'
import { InFlight } from '../../server/routes/one-at-a-time.ts'
import { useStages } from '../../server/stack.ts'
import type { OpenedStore } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { databaseExists, openDatabaseBeside, settingsOf } from '../../store/open.ts'
import { callerOfCommand } from './caller-of-command.ts'
import type { Pipeline } from './pipeline.ts'
import { createClient } from './socket-client.ts'

export interface CommandServerOptions {
  /** `instance` is the name of the command in decision records. */
  readonly config: Config
  readonly subject: string
  /** Undefined for the roles of the users record. */
  readonly roles: readonly string[] | undefined
}

export interface CommandServer extends Pipeline {
  close(): Promise<void>
}

/** Throws FileError, ConfigError, ToolError, UnfitDatabase, or KeyError. */
export async function openCommandServer(options: CommandServerOptions): Promise<CommandServer> {
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const part of closing.splice(0).reverse()) await part()
  }
  try {
    return { ...(await open(options, closing)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function open(options: CommandServerOptions, closing: (() => unknown)[]): Promise<Pipeline> {
  const { config } = options
  const now = () => new Date()
  const resources = await loadResources(config.schemas)
  const log = createLog('silent', commandProcess().stderr)
  const opened = await openStoreBeside(config, resources, now)
  closing.push(() => opened.store.close())
  const policy = await openPolicy({ config, log, now, options: { resources, observe: () => {} } })
  closing.push(() => policy.close())
  const standing = createStanding(opened.directory, () => now().getTime())
  const caller = await callerOfCommand(options, { opened, resources, policy: policy.policy.active.snapshot, standing })
  const chosen = new Map<string, string>()
  const token = randomBytes(32).toString('base64url')
  const verify = (given: string): Authentication | Promise<Authentication> =>
    given === token
      ? standing({ kind: 'caller', caller })
      : { kind: 'rejected', code: 'token-invalid', reason: 'other' }
  const koa = new Koa()
  const services = await servicesOn(opened, resources, now)
  useCommandStages(
    koa,
    { config, resources, opened, policy, now, verify, faults: createFaultLog(log) },
    {
      ...services,
      chosenId: (key) => (key === undefined ? undefined : chosen.get(key)),
    },
  )
  const socketPath = await listenPrivately(koa, closing)
  const client = createClient(socketPath, token)
  closing.push(() => client.close())
  const snapshot = policy.policy.active.snapshot
  const owned = [...resources.byName.keys()].flatMap((name) => {
    const ownership = snapshot.ownershipOf(name)
    return ownership ? [[name, ownership] as const] : []
  })
  return {
    resources,
    policy: { ownership: new Map(owned) },
    pageMost: snapshot.limits.page.max,
    readsShowMore(resource) {
      const { snapshot: current } = policy.policy.at(now().getTime())
      return !current.grantsAlike(current.subjectOf(caller), resource, 'list', 'read')
    },
    async ask(request) {
      const { idempotencyKey, chosenId } = request
      if (idempotencyKey === undefined || chosenId === undefined) return client.ask(request)
      chosen.set(idempotencyKey, chosenId)
      return client.ask(request).finally(() => chosen.delete(idempotencyKey))
    },
  }
}

/** Throws ConfigError, or UnfitDatabase if a server must open it first. */
async function openStoreBeside({ database }: Config, resources: Resources, now: () => Date): Promise<OpenedStore> {
  if (!databaseExists(database)) {
    throw new ConfigError(
      `there is no database \`${database.name}\`; check ${settingsOf(database)}, or give --database`,
    )
  }
  try {
    return await openDatabaseBeside(database, { resources, now })
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new ConfigError(
      `the database ${database.name} can't be used (${error.why}); check ${settingsOf(database)}, then try again`,
    )
  }
}

async function servicesOn({ store, directory }: OpenedStore, resources: Resources, now: () => Date): Promise<Services> {
  return {
    store,
    inFlight: new InFlight(),
    now,
    signIn: undefined,
    keySet: () => ({ keys: [] }),
    checks: async () => ({}),
    cursors: new Cursors(await store.secret('cursor')),
    tags: new EntityTags(await store.secret('tag')),
    describe: createDescribe(resources, 'folder'),
    access: { resources, store, directory, verifier: NO_TOKENS, publicUrl: () => '', turns: new Turns() },
  }
}

/** A command asks no questions of AuthZEN. */
const NO_TOKENS: TokenVerifier = {
  verify: () => ({ kind: 'rejected', code: 'token-invalid', reason: 'a command takes no tokens' }),
}

interface StageParts {
  readonly config: Config
  readonly resources: Resources
  readonly opened: OpenedStore
  readonly policy: OpenedPolicy
  readonly now: () => Date
  readonly verify: (token: string) => Authentication | Promise<Authentication>
  readonly faults: ReturnType<typeof createFaultLog>
}

/**
 * All stages, without rate limits: whoever reads the database doesn't wait for them. Each request has its record, in the
 * outbox, which servers bring into their decision log.
 */
function useCommandStages(koa: Koa, parts: StageParts, services: Services): void {
  const { config, resources, opened, policy, now, verify, faults } = parts
  const { store, outbox } = opened
  // An operator's command fills as much as its work takes.
  const logShares = new LogShares({ share: Number.POSITIVE_INFINITY })
  useStages(koa, {
    instance: config.instance,
    resources,
    store,
    services,
    policy: policy.policy,
    channel: policy.channel,
    now,
    verifier: { verify },
    rateLimiter: { refuseKnownOver: () => {}, count: () => ({}) },
    // No condition on addresses holds.
    logShares,
    clientAddress: () => ({ counted: 'command', whole: undefined }),
    cors: createCors({ origins: [], maxAgeSeconds: 0 }),
    recorder: requiredRecorder({ note: (line) => outbox.note([line]), committed: () => {} }, logShares),
    faults,
    metrics: { observeRequest: () => {} },
    unread: new UnreadAnswers(),
    draining: () => false,
  })
}

async function listenPrivately(koa: Koa, closing: (() => unknown)[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-command-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o700)
  const socketPath = join(folder, 'socket')
  const server = createHttpServer(runStages(koa))
  server.listen(socketPath)
  await once(server, 'listening')
  closing.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return socketPath
}
