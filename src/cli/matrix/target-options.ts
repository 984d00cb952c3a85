/** Options of matrix commands that send requests to a server: one in this process, or a deployment. */
import type { Command } from 'commander'
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { databaseIn } from '../../store/open.ts'
import { POLICIES, SCHEMAS } from '../options.ts'

/** Options about a deployment, which a run in this process would ignore. */
const WITH_URL = ['tokens', 'key', 'data', 'issuer', 'audience', 'setupRole']

/** For a command that sends requests to a server: one in this process, or a deployment. */
export function withTargetOptions(command: Command) {
  return command
    .hook('preAction', () => refuseWithoutUrl(command))
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option('--url <address>', 'send requests to this server, instead of a temporary one')
    .option('--tokens <file>', 'with --url: a token and its subject for each column (YAML or JSON)')
    .option('--key <file>', 'with --url: sign tokens with this private key (JWK or PEM)')
    .option(
      '--data <directory>',
      'with --url: sign tokens with the key in the database of this data folder (DATA_DIR, or the one of DATABASE_URL)',
    )
    .option('--issuer <name>', 'with --url: the issuer of tokens (JWT_ISSUER, sallyport)')
    .option('--audience <name>', 'with --url: the audience of tokens (JWT_AUDIENCE, sallyport)')
    .option('--setup-role <role>', 'with --url: the role that creates the objects', 'admin')
}

/** Without this check, the user would believe that a deployment was tested. */
function refuseWithoutUrl(command: Command): void {
  if (command.getOptionValue('url') !== undefined) return
  const given = command.options.find(
    (option) =>
      WITH_URL.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (given)
    command.error(`error: ${given.long} has no effect without --url: name the server with --url, or omit ${given.long}`)
}

/** `data` names a folder: the key in its database counts, whatever DATABASE_URL is. */
export function targetSettings({ data }: { readonly data?: string }) {
  const { policies, schemas, dataDirectory, database, tokens } = readConfig(environment())
  const { issuer, audience, keys } = tokens
  const secrets = keys.kind === 'embedded' ? keys.secrets : undefined
  const place = data === undefined ? { dataDirectory, database } : { dataDirectory: data, database: databaseIn(data) }
  return { policies, schemas, keyPlace: { ...place, secrets }, issuer, audience }
}
