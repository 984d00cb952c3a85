/** Process entry: command line and environment in, exit code out. 0 is fine, 1 findings, 2 could not run. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { type Logger, pino } from 'pino'
import type { App } from './app.ts'
import { decisionsCommand } from './cli/decisions-command.ts'
import { decisionsQueryCommand } from './cli/decisions-query-command.ts'
import { decisionsTailCommand } from './cli/decisions-tail-command.ts'
import { keyAddCommand } from './cli/key-add-command.ts'
import { keyCommand } from './cli/key-command.ts'
import { keyListCommand } from './cli/key-list-command.ts'
import { keyRevokeCommand } from './cli/key-revoke-command.ts'
import { keysCommand } from './cli/keys-command.ts'
import { keysListCommand } from './cli/keys-list-command.ts'
import { keysRotateCommand } from './cli/keys-rotate-command.ts'
import { matrixAttackCommand } from './cli/matrix-attack-command.ts'
import { type MatrixSettings, matrixCommand } from './cli/matrix-command.ts'
import { matrixCoverageCommand } from './cli/matrix-coverage-command.ts'
import { matrixInitCommand } from './cli/matrix-init-command.ts'
import { matrixMutateCommand } from './cli/matrix-mutate-command.ts'
import { matrixTestCommand } from './cli/matrix-test-command.ts'
import { openapiCommand } from './cli/openapi-command.ts'
import { policyApplyCommand } from './cli/policy-apply-command.ts'
import { policyBlockCommand } from './cli/policy-block-command.ts'
import { policyCheckCommand } from './cli/policy-check-command.ts'
import { policyCommand, type ReviewFolders } from './cli/policy-command.ts'
import { policyDiffCommand } from './cli/policy-diff-command.ts'
import { policyExplainCommand } from './cli/policy-explain-command.ts'
import { policyHistoryCommand } from './cli/policy-history-command.ts'
import { policyMatrixCommand } from './cli/policy-matrix-command.ts'
import { policyPromoteCommand } from './cli/policy-promote-command.ts'
import { policyReplayCommand } from './cli/policy-replay-command.ts'
import { policyRollbackCommand } from './cli/policy-rollback-command.ts'
import { policyUnblockCommand } from './cli/policy-unblock-command.ts'
import { serveCommand } from './cli/serve-command.ts'
import { type TokenRequest, tokenCommand } from './cli/token-command.ts'
import { userAddCommand } from './cli/user-add-command.ts'
import { userCommand } from './cli/user-command.ts'
import { userDisableCommand, userEnableCommand } from './cli/user-disable-command.ts'
import { userListCommand } from './cli/user-list-command.ts'
import { userPasswordCommand } from './cli/user-password-command.ts'
import { userRolesCommand } from './cli/user-roles-command.ts'
import { type Config, ConfigError, type Flags, readConfig } from './config.ts'
import { DEMO_CALLERS } from './demo/demo-data.ts'
import { DemoRefused } from './demo/seed-demo.ts'
import { welcome } from './demo/welcome.ts'
import { DirectoryError, type OpenDirectory } from './identity/directory-access.ts'
import { issueToken } from './identity/issue-token.ts'
import { KeyError } from './identity/key-error.ts'
import { noteTokenEnd, openEmbeddedKey, openKeyFolder } from './identity/key-folder.ts'
import type { StartTrialServer } from './matrix/run/trial-stage.ts'
import { FileError } from './problems/diagnostic.ts'
import { createLog } from './request/log.ts'
import { printable } from './review/explain/quote.ts'
import { ReviewError } from './review/load-policy.ts'
import { undeclaredRoles } from './review/undeclared-roles.ts'
import { UnfitDatabase } from './store/contract.ts'

/** Errors whose message was written for whoever starts the program. */
const FOR_PEOPLE = [ConfigError, DemoRefused, DirectoryError, FileError, KeyError, ReviewError, UnfitDatabase]

const DEMO_TOKEN_SECONDS = 12 * 60 * 60

// Beside src/ in a checkout, beside dist/ in the package.
const { description, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

const folders: ReviewFolders = () => readConfig(process.env)
const startTrial: StartTrialServer = async (folders) => (await import('./trial-server.ts')).startTrialServer(folders)
const decisionLog = () => readConfig(process.env).decisionLog.file
const dataDirectory = () => readConfig(process.env).dataDirectory

// Only commands that need the database load its engine.
const openDirectory: OpenDirectory = async () =>
  (await import('./parts/open-directory.ts')).openDirectory(readConfig(process.env))

const matrixSettings: MatrixSettings = () => {
  const { policies, schemas, dataDirectory, tokens } = readConfig(process.env)
  return { policies, schemas, data: dataDirectory, issuer: tokens.issuer, audience: tokens.audience }
}

const program = new Command('sallyport')
  .description(description)
  .version(version)
  .addCommand(serveCommand(serve))
  .addCommand(tokenCommand(printToken))
  .addCommand(
    keyCommand([keyAddCommand(openDirectory), keyListCommand(openDirectory), keyRevokeCommand(openDirectory)]),
  )
  .addCommand(keysCommand([keysListCommand(dataDirectory), keysRotateCommand(dataDirectory)]))
  .addCommand(
    userCommand([
      userAddCommand(openDirectory),
      userPasswordCommand(openDirectory),
      userRolesCommand(openDirectory),
      userDisableCommand(openDirectory),
      userEnableCommand(openDirectory),
      userListCommand(openDirectory),
    ]),
  )
  .addCommand(openapiCommand(folders))
  .addCommand(decisionsCommand([decisionsQueryCommand(decisionLog), decisionsTailCommand(decisionLog)]))
  .addCommand(
    policyCommand([
      policyCheckCommand(folders),
      policyExplainCommand(folders, () => readConfig(process.env).databaseFile),
      policyMatrixCommand(folders),
      policyDiffCommand(folders),
      policyReplayCommand(folders),
      policyApplyCommand(folders),
      policyRollbackCommand(folders),
      policyPromoteCommand(folders, () => readConfig(process.env).policyCandidate),
      policyHistoryCommand(folders),
      policyBlockCommand(folders),
      policyUnblockCommand(folders),
    ]),
  )
  .addCommand(
    matrixCommand([
      matrixTestCommand(matrixSettings, startTrial),
      matrixInitCommand(folders),
      matrixCoverageCommand(folders),
      matrixMutateCommand(folders),
      matrixAttackCommand(matrixSettings, startTrial),
    ]),
  )

await run()

async function run(): Promise<void> {
  process.stdout.on('error', failToWrite)
  exitByException(program)
  try {
    await program.parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
    else fail(error)
  }
}

/** What files and arguments bring along may hold what a terminal obeys. */
function tell(text: string): void {
  process.stderr.write(text.split('\n').map(printable).join('\n'))
}

/** A reader that has seen enough (`| head`) is no fault; a full disk is one. */
function failToWrite(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit()
  tell(`sallyport: the output can't be written (${error.code})\n`)
  process.exit(2)
}

function exitByException(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: tell })
  for (const part of command.commands) exitByException(part)
}

/** A sentence for whoever can do something about it; a fault of the program keeps its stack. */
function fail(error: unknown): void {
  const known = FOR_PEOPLE.some((kind) => error instanceof kind) || (error as NodeJS.ErrnoException).syscall
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  tell(known ? `sallyport: ${message}\n` : `sallyport: ${stack}\n`)
  process.exitCode = 2
}

async function serve(flags: Flags): Promise<void> {
  const config = readConfig(process.env, flags)
  // Logs go to stderr, so that stdout holds what a command was asked for.
  const log = createLog(config.logLevel, pino.destination(2))
  // The server's parts take as long to load as a whole command, so only what serves loads them.
  const starting = import('./app.ts').then(({ startApp }) => startApp({ config, log }))
  // logrotate and its like move the file away and say so, at any moment.
  process.on('SIGHUP', () =>
    starting.then(
      (app) => reopen(app, log),
      () => {},
    ),
  )
  const app = await starting
  log.info({ url: app.url, admin: app.adminUrl, revision: app.policy.active.revision }, 'listening')
  drainOnSignal(app.drain, log.info.bind(log))
  process.stdout.write(config.demo ? await welcomeText(config, app.url) : await firstUserText(config, app))
}

function reopen({ decisionLog }: App, log: Logger): void {
  try {
    decisionLog.reopen()
    log.info('decision log reopened')
  } catch (error) {
    log.error({ err: error }, 'the decision log can not be reopened; the one before is written to')
  }
}

function drainOnSignal(drain: () => Promise<void>, tell: (message: string) => void): void {
  const stop = async () => {
    tell('draining')
    await drain()
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

async function welcomeText(config: Config, url: string): Promise<string> {
  if (config.tokens.keys.kind !== 'embedded')
    return `Sallyport listens on ${url}; tokens come from the configured key\n`
  const tokens = new Map<string, string>()
  for (const { id, roles } of DEMO_CALLERS) {
    tokens.set(id, await sign(config, { subject: id, roles, lifetimeSeconds: DEMO_TOKEN_SECONDS }))
  }
  return welcome(url, tokens)
}

/** Empty but for the first start. */
async function firstUserText({ tokens }: Config, app: App): Promise<string> {
  if (tokens.keys.kind !== 'embedded') return ''
  const { makeFirstAdmin, tellFirstAdmin } = await import('./parts/first-admin.ts')
  const admin = await makeFirstAdmin(app)
  return admin ? tellFirstAdmin(app.url, admin) : ''
}

async function printToken(request: TokenRequest): Promise<string> {
  const config = readConfig(process.env)
  if (config.tokens.keys.kind !== 'embedded') {
    throw new ConfigError(
      'tokens come from the key of JWT_JWKS_URL or JWT_PUBLIC_KEY; unset it to use the embedded key',
    )
  }
  for (const role of await undeclaredRoles(config.policies, request.roles)) {
    tell(`sallyport: roles.yaml of ${config.policies} declares no role \`${role}\`, so it grants nothing\n`)
  }
  return sign(config, request)
}

/** The key outlasts the token, also when it is rotated. */
async function sign({ tokens, dataDirectory }: Config, request: TokenRequest): Promise<string> {
  const folder = await openKeyFolder(dataDirectory)
  const key = await openEmbeddedKey(dataDirectory)
  await noteTokenEnd(folder, key.kid, Date.now() + request.lifetimeSeconds * 1000)
  return issueToken(key, { ...request, issuer: tokens.issuer, audience: tokens.audience })
}
