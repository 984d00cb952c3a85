/** sallyport init, add, eject, upgrade and doctor: make a project, add to it, and examine it. */

import { rm, writeFile } from 'node:fs/promises'
import { basename, isAbsolute, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Command, InvalidArgumentError, Option } from 'commander'
import { commandProcess, environment, setExitCode } from '../base/command-process.ts'
import { systemReason } from '../base/files/system-reason.ts'
import type { Checked } from '../base/problems/checked.ts'
import { shellWord } from '../base/problems/fix.ts'
import type { Flags } from '../config/config.ts'
import { commandHere, programHere, withCommands } from '../present/invocation.ts'
import { print, printReport, printResult } from '../present/print.ts'
import { printable, quote } from '../present/quote.ts'
import { count, table } from '../present/text.ts'
import { ToolError } from '../tools/load-policy.ts'
import type { ProjectWishes } from '../tools/project/make-project.ts'
import { inDirectory } from './identity/directory.ts'
import {
  commandGroup,
  lifetime,
  MATRICES,
  MIGRATIONS,
  POLICIES,
  PORT,
  SCHEMAS,
  settingsWith,
  TEXT_OR_JSON,
  withHelp,
} from './options.ts'
import { demoFolders } from './serve/serve.ts'

export function initCommand() {
  return withHelp(new Command('init'), {
    about: 'make a project: schemas, policies, matrices, and what runs and tests them',
    note: `Without --yes, the command asks whatever no flag says.
Exit code: 0, or 2 when it could not run; then it wrote nothing.`,
    examples: ['init my-api', 'init my-api --yes', 'init my-api --demo --tenants'],
  })
    .argument('[directory]', 'the folder of the project, whose name is the name of the project', '.')
    .option('--demo', 'start with the resources of the demo, in place of users alone')
    .option('--tenants', 'start with tenants that never see each other')
    .option('--yes', 'ask nothing: what no flag says is left out')
    .action(async (directory, flags) => {
      const { makeProject } = await import('../tools/project/make-project.ts')
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

async function ask(name: string, { demo, tenants }: Partial<ProjectWishes>): Promise<ProjectWishes> {
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
  const { askLine } = await import('./ask.ts')
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

const PATTERNS = {
  own: 'each caller works with their own objects',
  team: 'the owner names members, who work with the object too',
  'public-read': 'everybody reads, the owner changes',
} as const

export function addCommand(): Command {
  return commandGroup('add', 'add to a project', declareResource, declareService)
}

function declareResource(add: Command): void {
  withHelp(add.command('resource'), {
    about: 'add a resource: its schema, its rules, and its matrix',
    note: `Patterns:
${Object.entries(PATTERNS)
  .map(([name, meaning]) => `  ${name.padEnd(12)} ${meaning}`)
  .join('\n')}

If users have a relation \`tenant\` in ownership.yaml, the new resource has one too.
Look at the new lines, and change them as you need. A running server knows the resource after a restart.
Exit code: 0, 1 for files with faults, or 2 when it could not run; then it changed nothing.`,
    examples: [
      'add resource tickets',
      'add resource boards --pattern team',
      'add resource pages --pattern public-read',
    ],
  })
    .argument('<name>', 'the name of the resource, which its path begins with: tickets')
    .addOption(
      new Option('--pattern <pattern>', 'who works with its objects')
        .choices(['own', 'team', 'public-read'])
        .default('own'),
    )
    .option('--role <name>', 'the role that works with them', 'member')
    .addOption(MATRICES)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .action(async (resource, flags) => {
      const { addResource } = await import('../tools/project/add-resource.ts')
      const files = await addResource({ ...(await settingsWith(flags)), resource })
      print(files.map((path) => `${path}\n`).join(''))
    })
}

const NINETY_DAYS = 90 * 24 * 3600 * 1000

function declareService(add: Command): void {
  withHelp(add.command('service'), {
    about: 'add another service that asks what people may do: its role, its rule, and an API key',
    note: `The key goes to the file <name>.key, which only you can read: give it to the service, and delete the file.
A role and a rule that are there already stay as they are. A running server takes all of it within a second.
Exit code: 0, 1 for files with faults, or 2 when it could not run; then it changed nothing.`,
    examples: ['add service shop', 'add service shop --role shop-backend --expires 30d'],
  })
    .argument('<name>', 'the name of the service, which is the subject of its key: shop', readService)
    .option('--role <name>', 'the role of services that ask', 'pdp-client')
    .addOption(
      new Option('--expires <duration>', 'how long the key is valid: 12h, 90d')
        .argParser(lifetime)
        .default(NINETY_DAYS, '90d'),
    )
    .addOption(MATRICES)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .action((name, flags) =>
      inDirectory(async (access) => {
        const { addService } = await import('../tools/project/add-service.ts')
        const { issueKey } = await import('../identity/directory/issue-key.ts')
        const settings = await settingsWith(flags)
        const path = `${name}.key`
        await reserve(path)
        try {
          const files = await addService(settings)
          const { role, expires } = settings
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

/** So that a file that is there, or a folder that can't be written, is reported before anything has changed. */
async function reserve(path: string): Promise<void> {
  try {
    await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    const why =
      code === 'EEXIST' ? 'exists already: move it away' : `can't be written (${systemReason(code)}): fix that`
    throw new ToolError(`${path} ${why}, or give the service another name`)
  }
}

function readService(text: string): string {
  if (/^[a-z][a-z0-9-]{0,49}$/.test(text)) return text
  throw new InvalidArgumentError('Use small letters, digits and -, like shop.')
}

export function ejectCommand() {
  return withHelp(new Command('eject'), {
    about: 'copy the schemas and the policy of the demo out of the package, to change them',
    note: 'Exit code: 0, or 2 when it could not run; then it wrote nothing.',
    examples: ['eject', 'eject my-api'],
  })
    .argument('[directory]', 'where schemas/ and policies/ are made', '.')
    .action(async (directory) => {
      const { ejectDemo } = await import('../tools/project/make-project.ts')
      const folders = await ejectDemo(directory)
      print(folders.map((name) => `${join(directory, name)}/\n`).join(''))
    })
}

/** Minutes and megabytes more than a matrix of thousands of rows needs. */
const BOUNDS = { milliseconds: 120_000, bytes: 256 * 1024 * 1024 } as const

export function upgradeCommand() {
  return withHelp(new Command('upgrade'), {
    about: 'say what this version changes for a project that has an earlier one installed',
    note: `Run it as the newer version, in the folder of the project: npx sallyport@latest upgrade --check
Folders are looked for in the folder of the project. The earlier program runs too: both print the access matrix.
What can't be compared is reported as undecided, also where a command of a version takes more than 2 minutes.
Exit code: 0 when there is nothing to do, 1 when there is, or 2 when it could not run.`,
    examples: ['upgrade --check', 'upgrade --check my-api --from before/node_modules/sallyport'],
  })
    .argument('[directory]', 'the folder of the project', '.')
    .option('--check', 'only look: no file is changed, and nothing is installed')
    .option('--from <directory>', 'the package of the earlier version (node_modules/sallyport of the project)')
    .addOption(SCHEMAS)
    .addOption(POLICIES)
    .addOption(MATRICES)
    .addOption(MIGRATIONS)
    .addOption(TEXT_OR_JSON)
    .action(async (folder, { check, format, from, ...flags }) => {
      if (!check) throw onlyLooks()
      const { checkUpgrade } = await import('../tools/project/upgrade/upgrade.ts')
      const { UPGRADE_FORMATS } = await import('../tools/project/upgrade/upgrade-text.ts')
      const { policies, schemas, matrices, migrations, database } = await settingsWith(flags)
      const within = (path: string) => (isAbsolute(path) ? path : join(folder, path))
      const report = await checkUpgrade({
        project: {
          folder,
          policies: within(policies),
          schemas: within(schemas),
          matrices: within(matrices),
          migrations: within(migrations),
          database: { ...database, location: within(database.location) },
        },
        from,
        now: new Date(),
        bounds: BOUNDS,
      })
      printReport(format, UPGRADE_FORMATS[format](report))
      if (report.todo) setExitCode(1)
    })
}

function onlyLooks(): ToolError {
  const check = `\`${programHere(environment())} upgrade --check\``
  return new ToolError(`upgrade only looks, and installs nothing: write ${check}, and install what you like with npm`)
}

export function doctorCommand() {
  return withHelp(new Command('doctor'), {
    about: 'find what is wrong with this installation, and the command that fixes it',
    note: `Give it the environment and the flags of \`sallyport serve\`. It changes nothing but a temporary file of its own in the
data folder, and a server may be running.
Exit code: 0 when all is well, also with warnings, 1 with a fault, 2 when the command could not run.`,
    examples: ['doctor', 'doctor --demo', 'doctor --format json'],
  })
    .option('--demo', 'for a server that serves the demo')
    .addOption(PORT)
    .option('--workers <number>', 'number of server processes (WORKERS, 1)')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MIGRATIONS)
    .addOption(TEXT_OR_JSON)
    .action(async ({ format, ...flags }) => {
      const { examineInstallation } = await import('../tools/project/doctor/doctor.ts')
      const { policyPlace } = await import('./policy/policy-place.ts')
      const { state, checks } = await examineInstallation({
        environment: environment(),
        flags: { ...flags, ...demoFolders(flags, environment()) },
        placeOf: (config) => policyPlace(config.policies, config),
        unreviewed: (await import('./grants.ts')).unreviewedIn,
      })
      const shown = checks.map((one) => withCommand(one, wordsOf(flags)))
      printResult(format, { state, checks: shown.map(withFormerName) }, textOf(shown))
      if (state === 'fault') setExitCode(1)
    })
}

/** The command line of the server that would be started. */
function wordsOf({ demo, ...values }: Flags): readonly string[] {
  const named = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)])
  return ['serve', ...(demo ? ['--demo'] : []), ...named]
}

function withCommand(checked: Checked, words: readonly string[]): Checked {
  const { message, fix } = checked
  return { ...checked, message: withCommands(message), ...(fix && { fix: commandHere(fix, words) }) }
}

/** For one release, programs find the command by its former name too. */
function withFormerName(checked: Checked): Checked & { readonly mend?: string } {
  const { fix } = checked
  return fix === undefined ? checked : { ...checked, mend: fix }
}

function textOf(checks: readonly Checked[]): string {
  const rows = checks.map(({ check, state, message, fix }) => {
    return [state, check, `${printable(message)}${fix === undefined ? '' : `: run \`${fix}\``}`]
  })
  const number = (wanted: Checked['state']) => checks.filter(({ state }) => state === wanted).length
  return `${table(rows).join('\n')}\n\n${count(number('fault'), 'fault')}, ${count(number('warning'), 'warning')}\n`
}
