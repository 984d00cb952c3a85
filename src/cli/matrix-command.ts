/** sallyport matrix …: what testers say that a server must answer, proven and completed. */
import { Command } from 'commander'
import { tell } from '../present/print.ts'

/** What the environment says; read when a command runs, because it can throw ConfigError. */
export type MatrixSettings = () => {
  readonly policies: string
  readonly schemas: string
  readonly data: string
  readonly issuer: string
  readonly audience: string
}

/** Where requests go. */
export interface TargetFlags {
  readonly policies?: string
  readonly schemas?: string
  readonly url?: string
  readonly tokens?: string
  readonly key?: string
  readonly data?: string
  readonly issuer?: string
  readonly audience?: string
  readonly setupRole: string
}

export function matrixCommand(commands: readonly Command[]): Command {
  const matrix = new Command('matrix').description('expectations of what each caller is answered: test them, and more')
  for (const command of commands) matrix.addCommand(command)
  return matrix
}

/** Options that say something about a deployment, and nothing about this process. */
const WITH_URL = ['tokens', 'key', 'data', 'issuer', 'audience', 'setupRole']

/** A command that asks a server: this process's own, or a deployment. */
export function newTargetCommand(name: string): Command {
  return new Command(name)
    .hook('preAction', (_, command) => refuseWithoutUrl(command))
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--url <address>', 'ask this server, instead of one in this process')
    .option('--tokens <file>', 'with --url: a token and its subject for each column (YAML or JSON)')
    .option('--key <file>', 'with --url: sign tokens with this private key (JWK or PEM)')
    .option('--data <directory>', "with --url: sign tokens with this server's own key (DATA_DIR, data)")
    .option('--issuer <name>', 'with --url: whom tokens are from (JWT_ISSUER, sallyport)')
    .option('--audience <name>', 'with --url: whom tokens are for (JWT_AUDIENCE, sallyport)')
    .option('--setup-role <role>', 'with --url: who makes the objects of cells', 'admin')
}

/** Passed over, they would leave somebody in the belief that a deployment was asked. */
function refuseWithoutUrl(command: Command): void {
  if (command.getOptionValue('url') !== undefined) return
  const given = command.options.find(
    (option) =>
      WITH_URL.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (given) command.error(`error: ${given.long} needs --url, the server to ask; without it this process is asked`)
}

/** The first Ctrl-C ends the run, and what it made is removed; the second ends the program, and leaves that behind. */
export function interrupted(): AbortSignal {
  const abort = new AbortController()
  const end = () => {
    if (abort.signal.aborted) {
      tell('\nsallyport: ended before all that the run had made was removed\n')
      process.exit(2)
    }
    tell('\nsallyport: ending; what the run made is being removed (once more leaves it there)\n')
    abort.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  return abort.signal
}
