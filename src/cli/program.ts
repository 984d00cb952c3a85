/**
 * The command tree: one file for each group of commands. A group is loaded only when a command line names it, which
 * keeps the start short.
 */

import { styleText } from 'node:util'
import { type Argument, Command, type CommandUnknownOpts, type Option } from 'commander'
import { commandProcess, environment } from '../base/command-process.ts'
import { printProblem } from '../present/print.ts'
import { PROGRAM } from '../present/program.ts'
import type { EndRecord } from './command-records.ts'

const GROUPS: Readonly<Record<string, () => Promise<CommandUnknownOpts>>> = {
  serve: async () => (await import('./serve/serve.ts')).serveCommand(),
  policy: async () => (await import('./policy/policy.ts')).policyCommand(),
  schema: async () => (await import('./schema.ts')).schemaCommand(),
  matrix: async () => (await import('./matrix/matrix.ts')).matrixCommand(),
  data: async () => (await import('./data/data.ts')).dataCommand(PROGRAM.version),
  decisions: async () => (await import('./decisions.ts')).decisionsCommand(),
  access: async () => (await import('./access.ts')).accessCommand(),
  events: async () => (await import('./events.ts')).eventsCommand(),
  user: async () => (await import('./identity/user.ts')).userCommand(),
  key: async () => (await import('./identity/keys.ts')).keyCommand(),
  'signing-keys': async () => (await import('./identity/keys.ts')).signingKeysCommand(),
  token: async () => (await import('./identity/keys.ts')).tokenCommand(),
  backup: async () => (await import('./backup.ts')).backupCommand(PROGRAM.version),
  evidence: async () => (await import('./evidence.ts')).evidenceCommand(),
  restore: async () => (await import('./backup.ts')).restoreCommand(),
  init: async () => (await import('./project.ts')).initCommand(),
  add: async () => (await import('./project.ts')).addCommand(),
  eject: async () => (await import('./project.ts')).ejectCommand(),
  ci: async () => (await import('./ci.ts')).ciCommand(),
  upgrade: async () => (await import('./project.ts')).upgradeCommand(),
  doctor: async () => (await import('./project.ts')).doctorCommand(),
  openapi: async () => (await import('./openapi/openapi.ts')).openapiCommand(),
  client: async () => (await import('./openapi/client.ts')).clientCommand(),
  lsp: async () => (await import('./lsp.ts')).lspCommand(),
  completion: async () => (await import('./completion.ts')).completionCommand(createProgram),
}

/** What a workflow, a hook or an editor judges are the files before it, and `.env` could name others. */
const WITHOUT_ENV_FILE: ReadonlySet<string> = new Set(['ci', 'lsp', 'completion', '--version', '-V', '--help', '-h'])

/** They help whoever fixes the file, and doctor reports its fault. */
const WITH_UNREADABLE: ReadonlySet<string> = new Set(['', 'help', 'doctor'])

/** Earlier names of groups, which still work. */
const FORMER_NAMES: ReadonlyMap<string, string> = new Map([['keys', 'signing-keys']])

/**
 * Runs the command that the arguments name. Throws CommanderError for a faulty command line, and what the command
 * throws.
 */
export async function runProgram(args: readonly string[]): Promise<void> {
  const words = wordsOf(args)
  if (!WITHOUT_ENV_FILE.has(words[0] ?? '')) await readSettings(words)
  const program = await createProgram(words[0])
  let endRecord: EndRecord | undefined
  program.hook('preAction', async (_, command) => {
    const { recordCommand } = await import('./command-records.ts')
    endRecord = await recordCommand(command, words)
  })
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    await endRecord?.(2)
    throw error
  }
  await endRecord?.(Number(commandProcess().exitCode ?? 0))
}

/** Throws ConfigError. */
async function readSettings(words: readonly string[]): Promise<void> {
  try {
    const { addEnvFile } = await import('../config/start/env-file.ts')
    addEnvFile(environment(), '.')
  } catch (error) {
    if (!WITH_UNREADABLE.has(words[0] ?? '') && !words.includes('--help') && !words.includes('-h')) throw error
  }
}

/** Loads the group that the word names; if it names no group (in `help`, for example), loads all. */
export async function createProgram(word = ''): Promise<Command> {
  const program = new Command('sallyport')
    .description(PROGRAM.description)
    .version(PROGRAM.version)
    .enablePositionalOptions()
  const load = Object.hasOwn(GROUPS, word) ? [GROUPS[word]] : Object.values(GROUPS)
  const groups = word === '--version' || word === '-V' ? [] : load
  for (const group of await Promise.all(groups.map((one) => one?.()))) if (group) program.addCommand(group)
  prepare(program)
  return program
}

/** `help policy check` is `policy check --help`; commander's own help looks no further than one word. */
function wordsOf([first = '', ...rest]: readonly string[]): readonly string[] {
  const [word = '', ...words] = first === 'help' && rest.length > 1 ? [...rest, '--help'] : [first, ...rest]
  return word === '' ? [] : [FORMER_NAMES.get(word) ?? word, ...words]
}

/** Commander omits colours if the output is not a terminal or NO_COLOR is set. */
function prepare(command: CommandUnknownOpts): void {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => commandProcess().stdout.write(text),
      writeErr: printProblem,
      outputError: (text, write) => write(sentenceOf(text)),
    })
    .configureHelp({
      styleTitle: (title) => styleText('bold', title, { validateStream: false }),
      optionDescription: describe,
      argumentDescription: describe,
    })
  for (const part of command.commands) prepare(part)
}

/** Choices and default as people type them. Commander writes JSON, such as `[]`, `false` and `3600000`. */
function describe({ description, argChoices, defaultValue, defaultValueDescription }: Option | Argument): string {
  const typed = [defaultValue].flat().filter((value) => typeof value !== 'boolean' && value !== undefined)
  const usual = defaultValueDescription ?? typed.join(' ')
  const told = [
    ...(argChoices ? [`choices: ${argChoices.join(', ')}`] : []),
    ...(usual === '' ? [] : [`default: ${usual}`]),
  ]
  return told.length > 0 ? `${description} (${told.join('; ')})` : description
}

/** Commander writes `error: …`, and its suggestion on a line of its own. */
function sentenceOf(error: string): string {
  return `sallyport: ${error.replace(/^error: /, '').replace(/\n\(Did you mean (.*)\)/, '; did you mean $1')}`
}
