/** sallyport policy history: which versions were in force, since when, by whom and why. */
import { Command, Option } from 'commander'
import { print } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import { homeOf } from '../tools/release/home.ts'
import { readHistory, type Version, versionJson } from '../tools/release/version.ts'
import type { ReleaseFolders } from './policy-command.ts'

interface Options {
  readonly policies?: string
  readonly format: 'text' | 'json'
}

const KINDS = { applied: 'applied', 'rolled-back': 'rolled back', kept: 'kept (files that were there)' } as const

export function policyHistoryCommand(folders: ReleaseFolders): Command {
  return new Command('history')
    .description('the versions that were in force, the last one first')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .addOption(new Option('--format <format>', 'how to tell it').choices(['text', 'json']).default('text'))
    .action(async (options: Options) => {
      const { policies, dataDirectory } = { ...folders(), ...options }
      const history = (await readHistory(await homeOf(policies, dataDirectory))).toReversed()
      print(options.format === 'json' ? toJson(history) : toText(history, policies))
    })
}

function toJson(history: readonly Version[]): string {
  return `${JSON.stringify({ versions: history.map(versionJson) }, undefined, 2)}\n`
}

function toText(history: readonly Version[], policies: string): string {
  if (history.length === 0) return `Nothing was applied to ${policies} yet; its files are in force as they are.\n`
  return history.map((version, i) => lineOf(version, i === 0)).join('')
}

function lineOf({ number, revision, time, user, kind, of, reason }: Version, inForce: boolean): string {
  const what = of === undefined ? KINDS[kind] : `${KINDS[kind]} to ${of}`
  const why = reason === undefined ? '' : `: ${reason}`
  const who = printable(`${user}  ${what}${why}`)
  return `${inForce ? '*' : ' '} ${String(number).padStart(4)}  ${revision}  ${time}  ${who}\n`
}
