/** Process entry: command line in, exit code out. 0 is fine, 1 findings, 2 could not run. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { oneOrAll } from './cli/programs/one-or-all.ts'
import { printable } from './present/quote.ts'

/**
 * What the program can do, by the word that comes first. Only what is asked for is loaded: a server starts sooner so,
 * and a command.
 */
const PROGRAMS: Readonly<Record<string, () => Promise<{ program(word?: string): Command | Promise<Command> }>>> = {
  serve: () => import('./cli/programs/serve.ts'),
  token: () => import('./cli/programs/token.ts'),
  key: () => import('./cli/programs/key.ts'),
  keys: () => import('./cli/programs/keys.ts'),
  user: () => import('./cli/programs/user.ts'),
  openapi: () => import('./cli/programs/openapi.ts'),
  decisions: () => import('./cli/programs/decisions.ts'),
  policy: () => import('./cli/programs/policy.ts'),
  matrix: () => import('./cli/programs/matrix.ts'),
}

/** Errors whose message was written for whoever starts the program, by name: most of their classes aren't loaded. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([
  'ConfigError',
  'DamagedObject',
  'DemoRefused',
  'DirectoryError',
  'FileError',
  'KeyError',
  'ReviewError',
  'UnfitDatabase',
])

// Beside src/ in a checkout, beside dist/ in the package.
const { description, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

await run()

async function run(): Promise<void> {
  process.stdout.on('error', failToWrite)
  try {
    const sallyport = new Command('sallyport').description(description).version(version)
    // `help policy check` is `policy check --help`; commander's own would look no further than one word.
    const [, , first, ...rest] = process.argv
    const [word, ...words] = first === 'help' && rest.length > 1 ? [...rest, '--help'] : [first, ...rest]
    const programs = word === '--version' || word === '-V' ? [] : await oneOrAll(PROGRAMS, word)
    // A word behind another program's word, or behind `help`, names no program.
    const own = programs.length === 1 ? words[0] : undefined
    for (const { program } of programs) sallyport.addCommand(await program(own))
    exitByException(sallyport)
    await sallyport.parseAsync(word === undefined ? [] : [word, ...words], { from: 'user' })
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
  const known = FOR_PEOPLE.has((error as Error)?.name) || (error as NodeJS.ErrnoException)?.syscall
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  // Faults of files have a line each; else a line end is of a value, and could look like another message.
  const sentence = name === 'FileError' ? message : printable(message)
  tell(known ? `sallyport: ${sentence}\n` : `sallyport: ${stack}\n`)
  process.exitCode = 2
}
