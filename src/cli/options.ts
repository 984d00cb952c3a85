/** Shared by the commands: options, the functions that read their values, and a command with notes and examples. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { DURATION_FORM, MOMENT_FORMS, readDuration, readMoment, timeFault } from '../base/time.ts'
import type { PublishedSettings } from '../identity/keys/published-settings.ts'
import { withCommands, wordHere } from '../present/invocation.ts'
import type { Resources } from '../resources/resource.ts'
import type { Database } from '../store/open.ts'

/** What names a policy to read. */
export const POLICY = 'a directory, or database: or database:<version> for a published version (POLICIES, policies)'
export const POLICIES = ['--policies <directory>', 'policy files, or database: (POLICIES, policies)'] as const
export const SCHEMAS = ['--schemas <directory>', 'schema files (SCHEMAS, schemas)'] as const
export const MIGRATIONS = ['--migrations <directory>', 'migration files (MIGRATIONS, migrations)'] as const
export const AT = ['--at <time>', 'decide for this time, like 2027-01-31T18:00:00Z or 2027-01-31 (now)'] as const
export const SINCE = [
  '--since <time>',
  'only records of this time or later: 2026-12-04T18:00:00Z, 2026-12-04, yesterday, or 1h for an hour ago',
] as const
export const UNTIL = ['--until <time>', 'only records before this time; the format is that of --since'] as const

/** The configuration from the environment; read when a command runs, because it can throw ConfigError. */
export type PolicySettings = () => {
  readonly policies: string
  readonly schemas: string
  readonly dataDirectory: string
  /** The database that `policy explain --object` reads. */
  readonly database: Database
  /** The file in which `policy explain --request-id` finds the record; undefined for standard output. */
  readonly decisionLog: { readonly file: string | undefined }
  readonly policyCandidate: string | undefined
  /** The keys of a policy that is published in the database. */
  readonly published: PublishedSettings
}

/** Flags of a command that reads policy and schema files. */
export interface FolderFlags {
  readonly policies?: string
  readonly schemas?: string
}

export type TextOrJson = 'text' | 'json'

/** Flags of a command with `formats()`. */
export interface FormatFlag {
  readonly format: TextOrJson
}

/** A command whose help has notes and examples. */
export class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name)
  }

  /** `--policies` and `--schemas`. */
  folders(): this {
    return this.option(...POLICIES).option(...SCHEMAS)
  }

  /** A paragraph below the options. */
  note(text: string): this {
    return this.addHelpText('after', `\n${withCommands(text)}`)
  }

  /** Command lines without the program's name; the last part of the help. test/programs/help.test.ts parses each. */
  examples(...commands: readonly string[]): this {
    const lines = commands.map((command) => `  ${wordHere()} ${command}`)
    return this.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }

  /** `--format`: text and JSON, or the formats of the command, the default first. */
  formats(...formats: readonly string[]): this {
    const choices = formats.length > 0 ? formats : ['text', 'json']
    return this.addOption(new Option('--format <format>', 'output format').choices(choices).default(choices[0]))
  }
}

/** For an option that may be given several times. */
export function gather(value: string, others: readonly string[] = []): readonly string[] {
  return [...others, value]
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
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

/** Reads a time, or a duration before now, as milliseconds since the epoch. */
export function moment(text: string): number {
  const ago = readDuration(text)
  const time = ago === undefined ? readMoment(text, Date.now()) : Date.now() - ago
  if (time !== undefined) return time
  throw new InvalidArgumentError(`${timeFault(text)}: write ${MOMENT_FORMS}; 1h is an hour ago.`)
}

/** Loaded when a command runs, so that the others start without it. */
export async function loadSchemaFiles(directory: string): Promise<Resources> {
  return (await import('../resources/load/load-resources.ts')).loadResources(directory)
}

export async function timeAt(at: string | undefined, now: number): Promise<number> {
  return (await import('../tools/asked/at-option.ts')).timeOf(at, now)
}
