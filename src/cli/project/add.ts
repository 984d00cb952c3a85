/** sallyport add …: adds to a project. */
import { Option } from 'commander'
import { readConfig } from '../../config/config.ts'
import { print } from '../../present/print.ts'
import type { NewResource } from '../../tools/project/add-resource.ts'
import type { Pattern } from '../../tools/project/resource-parts.ts'
import { CliCommand, type FolderFlags } from '../options.ts'

const PATTERNS: Readonly<Record<Pattern, string>> = {
  own: 'each caller works with their own objects',
  team: 'the owner names members, who work with the object too',
  'public-read': 'everybody reads, the owner changes',
}

type ResourceFlags = FolderFlags & Pick<NewResource, 'pattern' | 'role' | 'matrices'>

export function addCommand(): CliCommand {
  const add = new CliCommand('add').description('add to a project')
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
      const { policies, schemas } = { ...readConfig(process.env), ...flags }
      const files = await addResource({ ...flags, resource, policies, schemas })
      print(files.map((path) => `${path}\n`).join(''))
    })
  return add
}
