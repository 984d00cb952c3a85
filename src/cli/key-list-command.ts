/** sallyport key list: which API keys there are, and what became of them. */
import { Command, Option } from 'commander'
import { type OpenDirectory, withDirectory } from '../identity/directory/directory-access.ts'
import { print } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import type { ApiKey } from '../store/directory.ts'

interface Options {
  readonly format: 'text' | 'json'
}

const HEAD = ['KEY', 'STATE', 'SUBJECT', 'ROLES', 'CREATED', 'EXPIRES', 'LAST USED', 'NAME']

export function keyListCommand(open: OpenDirectory): Command {
  return new Command('list')
    .description('the API keys: whose, with which roles, until when, and when they were last used')
    .addOption(new Option('--format <format>', 'how to print it').choices(['text', 'json']).default('text'))
    .action(({ format }: Options) =>
      withDirectory(open, async ({ directory }) => {
        const keys = await directory.keys()
        print(format === 'json' ? toJson(keys) : toText(keys))
      }),
    )
}

function toJson(keys: readonly ApiKey[]): string {
  const told = keys.map((key) => {
    const { id, subject, roles, name } = key
    const times = {
      created: timeOf(key.createdAt),
      expires: timeOf(key.expiresAt),
      lastUsed: timeOf(key.lastUsedAt),
      revoked: timeOf(key.revokedAt),
    }
    return { id, state: stateOf(key), subject, roles, name, ...times }
  })
  return `${JSON.stringify({ keys: told }, undefined, 2)}\n`
}

function toText(keys: readonly ApiKey[]): string {
  if (keys.length === 0) return 'There are no API keys.\n'
  const rows = keys.map((key) => {
    const { id, subject, roles, createdAt, expiresAt, lastUsedAt, name } = key
    const used = lastUsedAt === null ? 'never' : minuteOf(lastUsedAt)
    return [id, stateOf(key), subject, roles.join(' '), minuteOf(createdAt), minuteOf(expiresAt), used, name].map(
      printable,
    )
  })
  const all = [HEAD, ...rows]
  const widths = HEAD.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)))
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function stateOf({ revokedAt, expiresAt }: ApiKey): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt <= Date.now() ? 'expired' : 'active'
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}

/** For reading: `2026-01-31 18:05Z`. */
function minuteOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')}Z`
}
