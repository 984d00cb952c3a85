/** sallyport matrix …: what testers say that a server must answer, proven and completed. */
import { Command } from 'commander'

/** What the environment says; read when a command runs, because it can throw ConfigError. */
export type MatrixSettings = () => {
  readonly policies: string
  readonly schemas: string
  readonly data: string
  readonly issuer: string
  readonly audience: string
}

/** Where requests go. */
export interface ArenaFlags {
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

/** A command that asks a server: this process's own, or a deployment. */
export function newArenaCommand(name: string): Command {
  return new Command(name)
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
