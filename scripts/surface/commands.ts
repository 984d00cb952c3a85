/** Commands with their arguments, options, values, defaults and exit codes. */
import type { Argument, CommandUnknownOpts, Option } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { type Members, requires } from './members.ts'

export async function commandMembers(): Promise<Members> {
  return (await createProgram()).commands.flatMap((command) => membersOf(command, `command ${command.name()}`))
}

function membersOf(command: CommandUnknownOpts, name: string): Members {
  return [
    [name, ''],
    ...command.registeredArguments.flatMap((argument, i) => argumentMembers(argument, name, i + 1)),
    ...command.options.flatMap((option) => optionMembers(option, name)),
    ...exitCodes(command).map((code) => [`${name} exits with ${code}`, ''] as const),
    ...command.commands.flatMap((one) => membersOf(one, `${name} ${one.name()}`)),
  ]
}

function argumentMembers(argument: Argument, owner: string, at: number): Members {
  const name = `${owner} argument ${at}`
  const form = { variadic: argument.variadic, default: argument.defaultValue }
  const required = argument.required ? [requires(owner, `argument ${at}`)] : []
  return [[name, JSON.stringify(form)], ...required, ...choices(name, argument.argChoices)]
}

function optionMembers(option: Option, owner: string): Members {
  const own = option.long ?? option.short ?? ''
  const name = `${owner} ${own}`
  const form = {
    short: option.long ? option.short : undefined,
    takes: option.required ? 'a value' : option.optional ? 'perhaps a value' : 'nothing',
    variadic: option.variadic,
    default: option.defaultValue,
  }
  const required = option.mandatory ? [requires(owner, own)] : []
  return [[name, JSON.stringify(form)], ...required, ...choices(name, option.argChoices)]
}

function choices(name: string, values: readonly string[] | undefined): Members {
  return (values ?? []).map((value) => [`${name} = ${value}`, ''] as const)
}

/** Those that the help lists. */
function exitCodes(command: CommandUnknownOpts): readonly string[] {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
  const [, listed = ''] = /\nExit code: (.*?)\n\n/s.exec(help) ?? []
  return [...new Set(listed.match(/\b[0-9]\b/g))].toSorted()
}
