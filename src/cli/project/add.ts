/** sallyport add …: adds to a project. */

import { rm, writeFile } from 'node:fs/promises'
import { InvalidArgumentError, Option } from 'commander'
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { print } from '../../present/print.ts'
import type { NewResource } from '../../tools/project/add-resource.ts'
import type { Pattern } from '../../tools/project/resource-parts.ts'
import { inDirectory } from '../identity/directory.ts'
import { CliCommand, type FolderFlags, lifetime } from '../options.ts'

const PATTERNS: Readonly<Record<Pattern, string>> = {
  own: 'each caller works with their own objects',
  team: 'the owner names members, who work with the object too',
  'public-read': 'everybody reads, the owner changes',
}

type ResourceFlags = FolderFlags & Pick<NewResource, 'pattern' | 'role' | 'matrices'>

export function addCommand(): CliCommand {
  const add = new CliCommand('add').description('add to a project')
  declareResource(add)
  declareService(add)
  return add
}

function declareResource(add: CliCommand): void {
  add
    .command('resource')
    .description('add a resource: its schema, its rules, and its matrix')
    .argument('<name>', 'the name of the resource, which its path begins with: tickets')
    .addOption(
      new Option('--pattern <pattern>', 'who works with its objects').choices(Object.keys(PATTERNS)).default('own'),
    )
    .option('--role <name>', 'the role that works with them', 'member')
    .option('--matrices <directory>', 'the folder of the matrices', 'test/matrix')
    .folders()
    .note(`Patterns:
${Object.entries(PATTERNS)
  .map(([name, meaning]) => `  ${name.padEnd(12)} ${meaning}`)
  .join('\n')}

If users have a relation \`tenant\` in ownership.yaml, the new resource has one too.
Look at the new lines, and change them as you need. A running server knows the resource after a restart.
Exit code: 0, 1 for files with faults, or 2 when it could not run; then it changed nothing.`)
    .examples('add resource tickets', 'add resource boards --pattern team', 'add resource pages --pattern public-read')
    .action(async (resource: string, flags: ResourceFlags) => {
      const { addResource } = await import('../../tools/project/add-resource.ts')
      const { policies, schemas } = { ...readConfig(environment()), ...flags }
      const files = await addResource({ ...flags, resource, policies, schemas })
      print(files.map((path) => `${path}\n`).join(''))
    })
}

interface ServiceFlags extends FolderFlags {
  readonly role: string
  /** Milliseconds. */
  readonly expires: number
  readonly matrices: string
}

const NINETY_DAYS = 90 * 24 * 3600 * 1000

function declareService(add: CliCommand): void {
  add
    .command('service')
    .description('add another service that asks what people may do: its role, its rule, and an API key')
    .argument('<name>', 'the name of the service, which is the subject of its key: shop', readService)
    .option('--role <name>', 'the role of services that ask', 'pdp-client')
    .addOption(
      new Option('--expires <duration>', 'how long the key is valid: 12h, 90d')
        .argParser(lifetime)
        .default(NINETY_DAYS, '90d'),
    )
    .option('--matrices <directory>', 'the folder of the matrices', 'test/matrix')
    .folders()
    .note(`The key goes to the file <name>.key, which only you can read: give it to the service, and delete the file.
A role and a rule that are there already stay as they are. A running server takes all of it within a second.
Exit code: 0, 1 for files with faults, or 2 when it could not run; then it changed nothing.`)
    .examples('add service shop', 'add service shop --role shop-backend --expires 30d')
    .action((name: string, flags: ServiceFlags) =>
      inDirectory(async (access) => {
        const { addService } = await import('../../tools/project/add-service.ts')
        const { issueKey } = await import('../../identity/directory/issue-key.ts')
        const { policies, schemas } = { ...readConfig(environment()), ...flags }
        const path = `${name}.key`
        await reserve(path)
        try {
          const files = await addService({ ...flags, policies, schemas })
          const { role, expires } = flags
          const wish = { subject: name, roles: [role], expires, name: `the service ${name}` }
          await issueKey(wish, access, (text) => writeFile(path, `${text}\n`))
          print([...files, path].map((one) => `${one}\n`).join(''))
        } catch (error) {
          await rm(path, { force: true })
          throw error
        }
      }),
    )
}

/** So that a file that is there, or a folder that can't be written, is told before anything has changed. */
async function reserve(path: string): Promise<void> {
  try {
    await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    const { ToolError } = await import('../../tools/load-policy.ts')
    const why = code === 'EEXIST' ? 'exists already: move it away' : `can't be written (${code}): mend that`
    throw new ToolError(`${path} ${why}, or give the service another name`)
  }
}

function readService(text: string): string {
  if (/^[a-z][a-z0-9-]{0,49}$/.test(text)) return text
  throw new InvalidArgumentError('Use small letters, digits and -, like shop.')
}
