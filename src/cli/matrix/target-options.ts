/** Options of matrix commands that send requests to a server: one in this process, or a deployment. */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import type { CliCommand, FolderFlags } from '../options.ts'

export const PATHS = ['[paths...]', 'folders or files of matrices (*.csv) and cases (*.yaml)', ['test/matrix']] as const

export const RESOURCE: readonly [string, string, string[]] = [
  '--resource <name...>',
  'only this resource; repeat for more',
  [],
]

/** Where requests are sent. */
export interface TargetFlags extends FolderFlags {
  readonly url?: string
  readonly tokens?: string
  readonly key?: string
  readonly data?: string
  readonly issuer?: string
  readonly audience?: string
  readonly setupRole: string
}

/** Options about a deployment, which a run in this process would ignore. */
const WITH_URL = ['tokens', 'key', 'data', 'issuer', 'audience', 'setupRole']

/** For a command that sends requests to a server: one in this process, or a deployment. */
export function withTargetOptions(command: CliCommand): CliCommand {
  return command
    .hook('preAction', () => refuseWithoutUrl(command))
    .folders()
    .option('--url <address>', 'send requests to this server, instead of a temporary one')
    .option('--tokens <file>', 'with --url: a token and its subject for each column (YAML or JSON)')
    .option('--key <file>', 'with --url: sign tokens with this private key (JWK or PEM)')
    .option(
      '--data <directory>',
      'with --url: sign tokens with the key in this data folder of the server (DATA_DIR, data; or its database, KEYS_SECRET)',
    )
    .option('--issuer <name>', 'with --url: the issuer of tokens (JWT_ISSUER, sallyport)')
    .option('--audience <name>', 'with --url: the audience of tokens (JWT_AUDIENCE, sallyport)')
    .option('--setup-role <role>', 'with --url: the role that creates the objects', 'admin')
}

/** Without this check, the user would believe that a deployment was tested. */
function refuseWithoutUrl(command: CliCommand): void {
  if (command.getOptionValue('url') !== undefined) return
  const given = command.options.find(
    (option) =>
      WITH_URL.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (given)
    command.error(`error: ${given.long} has no effect without --url: name the server with --url, or omit ${given.long}`)
}

/** `data` names a folder, so its key counts even if there is a KEYS_SECRET. */
export function targetSettings({ data }: Pick<TargetFlags, 'data'>) {
  const { policies, schemas, dataDirectory, database, tokens } = readConfig(environment())
  const { issuer, audience, keys } = tokens
  const secrets = keys.kind === 'embedded' && data === undefined ? keys.secrets : undefined
  return { policies, schemas, data: dataDirectory, keyPlace: { dataDirectory, database, secrets }, issuer, audience }
}
