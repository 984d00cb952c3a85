/** sallyport user list: who may sign in, with which roles. */
import { Command, Option } from 'commander'
import { type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { print } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import type { Person } from '../store/directory.ts'

const HEAD = ['ID', 'E-MAIL', 'NAME', 'ROLES', 'STATE']

type State = 'active' | 'one-time password' | 'no password' | 'disabled'

export function userListCommand(open: OpenDirectory): Command {
  return new Command('list')
    .description('the users: who they are, their roles, and whether they can sign in')
    .addOption(new Option('--format <format>', 'how to print it').choices(['text', 'json']).default('text'))
    .action(({ format }: { readonly format: 'text' | 'json' }) =>
      withDirectory(open, async ({ directory }) => {
        const people = await directory.people()
        print(format === 'json' ? toJson(people) : toText(people))
      }),
    )
}

function toJson(people: readonly Person[]): string {
  const users = people.map((person) => {
    const { id, email, name, roles } = person
    return { id, email, name, roles, state: stateOf(person) }
  })
  return `${JSON.stringify({ users }, undefined, 2)}\n`
}

function toText(people: readonly Person[]): string {
  if (people.length === 0) return 'There are no users.\n'
  const rows = people.map((person) => {
    const { id, email, name, roles } = person
    return [id, email, name, roles.join(' '), stateOf(person)].map(printable)
  })
  const all = [HEAD, ...rows]
  const widths = HEAD.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)))
  const lines = all.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

function stateOf({ account }: Person): State {
  if (account?.disabled) return 'disabled'
  if (!account?.passwordHash) return 'no password'
  return account.oneTime ? 'one-time password' : 'active'
}
