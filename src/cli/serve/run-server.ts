/** Runs a server as a process: its log, its signals, and what it prints at the start. */
import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import type { Logger } from 'pino'
import { type Config, type Flags, readConfig } from '../../config/config.ts'
import { invocation } from '../../present/invocation.ts'
import { secretsHiddenOf } from '../../present/without-secrets.ts'
import { type App, startApp } from '../../server/app.ts'
import { openServerLog } from '../../server/observe/log.ts'
import { welcome } from '../../server/parts/demo.ts'
import { firstAdminText, makeFirstAdmin } from '../../server/parts/first-admin.ts'

const AFTER_START_MS = 1000

/** `fromPackage`: the folders of the demo, if the package has them. */
export async function runServer(flags: Flags, fromPackage: Flags | undefined): Promise<void> {
  const config = writingApart(readConfig(process.env, { ...flags, ...fromPackage }))
  // Logs go to stderr, so that stdout holds only the result of a command.
  const { log, linesLost } = openServerLog(config.logLevel)
  if (config.workers > 1 && cluster.isPrimary) {
    const { servePrimary } = await import('../../server/workers/primary.ts')
    await servePrimary(config, log)
    return
  }
  // A server of one process doesn't load the modules for workers.
  const worker = cluster.isWorker ? await import('../../server/workers/worker.ts') : undefined
  const starting = startApp({ config, log, linesLost, ...(worker && { worker: worker.workerParts() }) })
  // logrotate and similar programs move the file away at any moment, and then send this signal.
  process.on('SIGHUP', () =>
    starting.then(
      (app) => reopen(app, log),
      () => {},
    ),
  )
  // Otherwise a worker that can't start would not end, because its channel to the primary is open.
  starting.catch(() => cluster.worker?.disconnect())
  const app = await starting
  drainOnSignal(app.drain, log.info.bind(log))
  // Makes the next start faster.
  setTimeout(flushCompileCache, AFTER_START_MS).unref()
  const { revision } = app.policy.active
  if (worker) worker.reportListening(app.url, revision)
  else log.info({ url: app.url, admin: app.adminUrl, console: app.consoleUrl, revision }, 'listening')
  if (worker && !worker.isFirstWorker()) return
  const text = config.demo ? welcomeText(config, app) : await firstUserText(config, app)
  print(fromPackage ? `${text}\n${ejectText()}` : text, log)
}

/** No request of a server waits until another one is on the disk, where the engine of the database would let it. */
function writingApart(config: Config): Config {
  return { ...config, database: { ...config.database, writer: 'thread' } }
}

/** A full disk, or a reader that has closed the pipe, ends a command but must not end a server. */
function print(text: string, log: Logger): void {
  if (text === '') return
  process.stdout.removeAllListeners('error').on('error', (error) => {
    log.warn({ err: error }, `standard output can not be written, so this text is lost: ${firstLineOf(text)}`)
  })
  process.stdout.write(secretsHiddenOf(process.env)(text))
}

/** The text contains no password. */
function firstLineOf(text: string): string {
  return text.slice(0, text.indexOf('\n'))
}

function reopen({ decisionLog }: App, log: Logger): void {
  try {
    decisionLog.reopen()
    log.info('decision log reopened')
  } catch (error) {
    log.error({ err: error }, 'the decision log can not be reopened; still using the previous file')
  }
}

function drainOnSignal(drain: () => Promise<void>, log: (message: string) => void): void {
  let stopping = false
  // A terminal's Ctrl-C reaches a worker twice: directly and from its primary.
  const stop = async () => {
    if (stopping) return
    stopping = true
    log('draining')
    await drain()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

function welcomeText({ tokens }: Config, { url, consoleUrl }: App): string {
  return tokens.keys.kind === 'embedded'
    ? welcome({ url, consoleUrl, program: invocation(process.env) })
    : `Sallyport listens on ${url}; it accepts tokens of the configured key\n`
}

function ejectText(): string {
  return `Its schemas and its policy came with the program. This command copies them into this folder, to change them:

${invocation(process.env)} eject
`
}

/** Empty except on the first start. */
async function firstUserText({ tokens }: Config, app: App): Promise<string> {
  if (tokens.keys.kind !== 'embedded') return ''
  const admin = await makeFirstAdmin(app)
  return admin ? firstAdminText(app.url, admin) : ''
}
