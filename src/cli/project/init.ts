/** sallyport init: makes a project. */

import { basename, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { commandProcess } from '../../base/command-process.ts'
import { shellWord } from '../../base/problems/mend.ts'
import { print } from '../../present/print.ts'
import { quote } from '../../present/quote.ts'
import { ToolError } from '../../tools/load-policy.ts'
import type { ProjectWishes } from '../../tools/project/plan-project.ts'
import { askLine } from '../ask.ts'
import { CliCommand } from '../options.ts'

interface InitFlags {
  readonly yes?: true
  readonly demo?: boolean
  readonly tenants?: boolean
}

export function initCommand(): CliCommand {
  return new CliCommand('init')
    .description('make a project: schemas, policies, matrices, and what runs and tests them')
    .argument('[directory]', 'the folder of the project, whose name is the name of the project', '.')
    .option('--demo', 'start with the resources of the demo, in place of users alone')
    .option('--tenants', 'start with tenants that never see each other')
    .option('--yes', 'ask nothing: what no flag says is left out')
    .note(`Without --yes, the command asks whatever no flag says.
Exit code: 0, or 2 when it could not run; then it wrote nothing.`)
    .examples('init my-api', 'init my-api --yes', 'init my-api --demo --tenants')
    .action(async (directory: string, flags: InitFlags) => {
      const { makeProject } = await import('../../tools/project/make-project.ts')
      const name = nameOf(directory)
      const wishes = flags.yes ? { name, demo: false, tenants: false, ...flags } : await ask(name, flags)
      await makeProject(directory, wishes)
      print(nextSteps(directory, wishes))
    })
}

/** Names of npm packages: https://docs.npmjs.com/cli/configuring-npm/package-json#name */
function nameOf(directory: string): string {
  const name = directory === '' ? '' : basename(resolve(directory))
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name)) return name
  throw new ToolError(
    `${quote(name)} can't be the name of a project: name the directory with small letters, digits, \`-\`, \`_\` and \`.\``,
  )
}

async function ask(name: string, { demo, tenants }: InitFlags): Promise<ProjectWishes> {
  if (demo !== undefined && tenants !== undefined) return { name, demo, tenants }
  if (!commandProcess().stdin.isTTY) {
    throw new ToolError('nobody can be asked here: say what you want with --demo and --tenants, or add --yes')
  }
  const terminal = createInterface({ input: commandProcess().stdin, historySize: 0 })
  const lines = terminal[Symbol.asyncIterator]()
  try {
    return {
      name,
      demo: demo ?? (await isYes('Start with the resources of the demo? (y/N) ', lines)),
      tenants: tenants ?? (await isYes('Have tenants that never see each other? (y/N) ', lines)),
    }
  } finally {
    terminal.close()
  }
}

async function isYes(question: string, lines: AsyncIterator<string>): Promise<boolean> {
  const answer = await askLine(question, lines)
  if (answer !== undefined) return /^\s*y(es)?\s*$/i.test(answer)
  throw new ToolError('the question was not answered, so nothing was written: run the command again')
}

function nextSteps(directory: string, { name }: ProjectWishes): string {
  const enter = resolve(directory) === process.cwd() ? '' : `cd ${shellWord(directory)}\n`
  return `The project ${name} is ready. Next:

${enter}npm install
npm test
npm start

Its README.md says what is where.
`
}
