/** The stages of the server in the process of a command, for one caller, on a database that a server may have open. */

import { commandProcess } from '../../base/command-process.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { requiredRecorder } from '../../decision-log/recorder.ts'
import type { TokenVerifier } from '../../identity/caller.ts'
import { createAccountCheck } from '../../identity/directory/account-status.ts'
import { loadSchemas } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { openInProcess } from '../../server/in-process.ts'
import { createFaultLog } from '../../server/observe/fault-log.ts'
import { createLog } from '../../server/observe/log.ts'
import { openPolicy } from '../../server/parts/open-policy.ts'
import type { OpenedStore } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import { databaseExists, fixOfDatabase, openDatabaseBeside, settingsOf } from '../../store/open.ts'
import { callerOfCommand } from './caller-of-command.ts'
import type { Pipeline, PipelineAnswer, PipelineRequest } from './pipeline.ts'

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
  const { resources, sources: schemas } = await loadSchemas(config.schemas)
  const log = createLog('silent', commandProcess().stderr)
  const opened = await openStoreBeside(config, resources, now)
  closing.push(() => opened.store.close())
  await refuseUnrecorded(opened, config)
  const policy = await openPolicy({ config, log, now, schemas, options: { resources, observe: () => {} } })
  closing.push(() => policy.close())
  const checkAccount = createAccountCheck(opened.directory, () => now().getTime())
  const caller = await callerOfCommand(options, {
    opened,
    resources,
    policy: policy.policy.active.snapshot,
    checkAccount,
  })
  const chosen = new Map<string, string>()
  const askHere = await openInProcess({
    instance: config.instance,
    resources,
    ...opened,
    policy: policy.policy,
    channel: policy.channel,
    now,
    verifier: { verify: () => checkAccount({ kind: 'caller', caller }) },
    subjects: NO_TOKENS,
    // No condition on addresses holds.
    clientAddress: () => ({ counted: 'command', whole: undefined }),
    // In the outbox, which servers bring into their decision log.
    recorder: (shares) => requiredRecorder({ note: (line) => opened.outbox.note([line]), committed: () => {} }, shares),
    faults: createFaultLog(log),
    chosenId: (key) => (key === undefined ? undefined : chosen.get(key)),
  })
  const ask = async ({ method, path, body, idempotencyKey }: PipelineRequest): Promise<PipelineAnswer> => {
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    const answer = await askHere({ method, path, token: 'command', headers, body })
    return {
      status: answer.status,
      body: answer.text === '' ? undefined : JSON.parse(answer.text),
      location: answer.headers.Location,
      replayed: answer.headers['Idempotency-Replayed'] === 'true',
    }
  }
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
      if (idempotencyKey === undefined || chosenId === undefined) return ask(request)
      chosen.set(idempotencyKey, chosenId)
      return ask(request).finally(() => chosen.delete(idempotencyKey))
    },
  }
}

/** Throws ConfigError, or UnfitDatabase if a server must open it first. */
export async function openStoreBeside(
  { database }: Config,
  resources: Resources,
  now: () => Date,
): Promise<OpenedStore> {
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

/** Each request would be refused for its record, as if it were for a moment only. Throws ConfigError. */
async function refuseUnrecorded({ outbox }: OpenedStore, { database }: Config): Promise<void> {
  try {
    await outbox.note([])
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new ConfigError(
      `the database ${database.name} takes no decision records of this command (${error.why}), which answers nothing ` +
        'without them; let its user write into the tables `outbox` and `turns`',
      await fixOfDatabase(database, error),
    )
  }
}

/** A command asks no questions of AuthZEN. */
const NO_TOKENS: TokenVerifier = {
  verify: () => ({ kind: 'rejected', code: 'token-invalid', reason: 'a command takes no tokens' }),
}
