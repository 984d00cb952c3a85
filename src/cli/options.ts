/** Flags that several commands have, each once: its name, its sentence, how its value is read, and its default. */
import { Command, InvalidArgumentError, Option } from 'commander'
import ms, { type StringValue } from 'ms'
import { DURATION_FORM, MOMENT_FORMS, readDuration, readMoment, timeFault } from '../base/time.ts'
import { withCommands, wordHere } from '../present/invocation.ts'
import type { GivenFlags } from './flags.ts'

export const POLICIES = new Option('--policies <directory>', 'policy files, or database: (POLICIES, policies)')
export const SCHEMAS = new Option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
export const MIGRATIONS = new Option('--migrations <directory>', 'migration files (MIGRATIONS, migrations)')
export const MATRICES = new Option('--matrices <directory>', 'the folder of the matrices').default('test/matrix')
export const MATRIX_PLACES = new Option('--matrices <path...>', 'folders or files of matrices and cases').default([
  'test/matrix',
] as readonly string[])
export const DATABASE = new Option('--database <url>', 'the database (DATABASE_URL, else the file in DATA_DIR)')
export const PORT = new Option('--port <number>', 'port to listen on (PORT, 3000)')
export const AT = new Option('--at <time>', 'decide for this time, like 2027-01-31T18:00:00Z or 2027-01-31 (now)')
export const SINCE = new Option(
  '--since <time>',
  'only records of this time or later: 2026-12-04T18:00:00Z, 2026-12-04, yesterday, or 1h for an hour ago',
).argParser(moment)
export const UNTIL = new Option(
  '--until <time>',
  'only records before this time; the format is that of --since',
).argParser(moment)
export const ONLY_RESOURCES = new Option('--resource <name...>', 'only this resource; repeat for more').default(
  [] as readonly string[],
)
export const ROLES_OF_CALLER = new Option(
  '--role <name...>',
  'only what a caller with this role (or anonymous) may do; repeat for a caller with several roles',
).default([] as readonly string[])
export const TEXT_OR_JSON = formats('text', 'json')
export const FAIL_ON_SEVERITY = ['error', 'warning'] as const
export const FAIL_ON_DIRECTION = ['widening', 'narrowing', 'any'] as const

/** An argument that names a policy. */
export const POLICY = 'a directory, or database: or database:<version> for a published version (POLICIES, policies)'

/** `--format`; the first format is the default. */
export function formats<const T extends readonly [string, ...string[]]>(...choices: T) {
  return new Option('--format <format>', 'output format').choices(choices).default(choices[0] as T[number])
}

interface HelpText {
  readonly about: string
  /** A paragraph below the options. */
  readonly note?: string
  /** Command lines without the program's name; the last part of the help. test/programs/help.test.ts parses each. */
  readonly examples: readonly string[]
}

export function withHelp(command: Command, { about, note, examples }: HelpText): Command {
  const lines = examples.map((example) => `  ${wordHere()} ${example}`)
  if (note !== undefined) command.addHelpText('after', `\n${withCommands(note)}`)
  return command.description(about).addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

/** A command that has others. */
export function commandGroup(
  name: string,
  about: string,
  ...declare: readonly ((parent: Command) => unknown)[]
): Command {
  const parent = new Command(name).description(about)
  for (const one of declare) one(parent)
  return parent
}

/** The settings that hold for a command with these flags. Loaded when a command runs, so that the others start fast. */
export async function settingsWith<F extends object>(flags: F & GivenFlags, instance?: string) {
  return (await import('./flags.ts')).mergeFlags(flags, instance)
}

/** For an option that may be given several times. */
export function gather(value: string, others: readonly string[] = []): readonly string[] {
  return [...others, value]
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  }
}

export function percent(text: string): number {
  if (/^\d{1,3}(\.\d+)?$/.test(text) && Number(text) <= 100) return Number(text)
  throw new InvalidArgumentError('It must be a number from 0 to 100.')
}

/** Milliseconds. */
export function lifetime(text: string): number {
  const duration = readDuration(text)
  if (duration !== undefined) return duration
  throw new InvalidArgumentError(DURATION_FORM)
}

const DURATION_FROM_NOW = /^\d+(\.\d+)? ?(s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?)$/

/** A time to come, in milliseconds since the epoch; `2h` is in two hours. */
export function futureMoment(text: string): number {
  const duration = DURATION_FROM_NOW.test(text) ? (ms(text as StringValue) ?? Number.NaN) : Number.NaN
  const time = Number.isNaN(duration) ? readMoment(text, Date.now()) : Date.now() + duration
  if (time === undefined) {
    throw new InvalidArgumentError(`${timeFault(text)}: write ${MOMENT_FORMS}; 2h is in two hours.`)
  }
  if (time <= Date.now()) throw new InvalidArgumentError('The time is in the past. Write a later one.')
  return time
}

/** Reads a time, or a duration before now, as milliseconds since the epoch. */
function moment(text: string): number {
  const ago = readDuration(text)
  const time = ago === undefined ? readMoment(text, Date.now()) : Date.now() - ago
  if (time !== undefined) return time
  throw new InvalidArgumentError(`${timeFault(text)}: write ${MOMENT_FORMS}; 1h is an hour ago.`)
}
