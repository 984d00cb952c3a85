/**
 * Commands that change who may do what, or that give data or keys away, leave two records in the decision log: when they
 * begin, and how they ended. A server takes the records from the database's outbox, as those of writes.
 */
import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { CommandUnknownOpts } from 'commander'
import { type Environment, environment } from '../base/command-process.ts'
import { printNote } from '../present/print.ts'
import { withoutKeys, withoutSecrets } from '../present/without-secrets.ts'

/** All others only look, or write files that a server doesn't read. */
export const RECORDED: ReadonlySet<string> = new Set([
  ...['access approve', 'access request', 'access review', 'access revoke'],
  ...['backup', 'backup key', 'restore', 'data erase-history', 'data export', 'data import', 'data migrate'],
  ...['decisions erase', 'evidence export', 'events redeliver', 'events secret', 'events skip'],
  ...['key add', 'key revoke', 'signing-keys reencrypt', 'signing-keys rotate', 'token'],
  ...['policy apply', 'policy approve', 'policy block', 'policy break-glass', 'policy promote', 'policy propose'],
  ...['policy publish', 'policy reject', 'policy review-glass', 'policy rollback', 'policy unblock', 'policy withdraw'],
  ...['user add', 'user disable', 'user enable', 'user password', 'user roles'],
])

/** Of a policy that decided nothing. */
const NO_REVISION = '0'.repeat(16)

/** In characters. */
const LONGEST_ARGUMENT = 256
const MOST_ARGUMENTS = 100
const LEFT_OUT = '…'

/** Tells how a command ended; `code`: its exit code. */
export type EndRecord = (code: number) => Promise<void>

/**
 * Records that a command begins, if it is one of these. A command that can't be recorded runs all the same: without its
 * database it changes nothing there. If it changed a folder, it says that nobody recorded it.
 */
export async function recordCommand(command: CommandUnknownOpts, words: readonly string[]): Promise<EndRecord> {
  const name = nameOf(command)
  // A rehearsal, or a look at what is still to do, changes nothing.
  const { dryRun, status } = command.opts()
  if (!RECORDED.has(name) || dryRun === true || status === true) return async () => undefined
  const requestId = randomUUID()
  const begun = performance.now()
  const note = (end: Pick<CommandEnd, 'outcome' | 'status'>) => {
    const microseconds = Math.round((performance.now() - begun) * 1000)
    return keep({ name, words, variables: variablesOf(command, name), requestId, microseconds, ...end })
  }
  // Until it is done, nothing is there that could keep a record.
  if (name === 'restore') {
    return async (code) => {
      if (code === 0) await note({ outcome: 'allowed', status: DONE })
    }
  }
  const unbegun = await note({ outcome: 'allowed', status: BEGUN })
  return async (code) => {
    const unended = await note(
      code === 0 ? { outcome: 'allowed', status: DONE } : { outcome: 'failed', status: NOT_DONE },
    )
    const fault = unbegun ?? unended
    if (!fault || code !== 0) return
    const what = unbegun ? 'this command' : 'the end of this command'
    printNote(`sallyport: the decision log has no record of ${what}: ${reasonOf(fault)}\n`)
  }
}

/** What the database says, where it is the reason. */
function reasonOf(fault: Error & { readonly why?: unknown }): string {
  return typeof fault.why === 'string' ? fault.why : fault.message
}

const BEGUN = 202
const DONE = 200
const NOT_DONE = 500

/** The database of the server, or the named one; after a restore, the restored one: its log tells where it comes from. */
function variablesOf(command: CommandUnknownOpts, name: string): Environment {
  const { database } = command.opts()
  if (typeof database === 'string') return { ...environment(), DATABASE_URL: database }
  if (name !== 'restore') return environment()
  const [, directory] = command.processedArgs
  return { ...environment(), DATABASE_URL: undefined, DATA_DIR: join(String(directory), 'data') }
}

interface CommandEnd {
  readonly variables: Environment
  readonly name: string
  readonly words: readonly string[]
  readonly requestId: string
  readonly outcome: 'allowed' | 'failed'
  readonly status: number
  readonly microseconds: number
}

/** Returns why the record couldn't be kept. */
async function keep({ name, words, variables, ...end }: CommandEnd): Promise<Error | undefined> {
  const { readConfig } = await import('../config/config.ts')
  const { databaseExists } = await import('../store/open.ts')
  try {
    const config = readConfig(variables)
    // Nobody has started a server here, so there is nobody whose access changes.
    if (!databaseExists(config.database)) return undefined
    const { openOutbox } = await import('../server/parts/open-store.ts')
    const { recordLine } = await import('../decision-log/record-line.ts')
    const { outbox, close } = await openOutbox(config)
    const line = recordLine({
      time: new Date().toISOString(),
      instance: config.instance,
      revision: NO_REVISION,
      method: 'COMMAND',
      action: name,
      subject: personOf(environment()),
      arguments: shownArguments(words.slice(name.split(' ').length), name),
      ...end,
    })
    await outbox.note([line]).finally(close)
    return undefined
  } catch (error) {
    // No server has opened it yet, so nobody has access.
    return (error as Error).name === 'UnfitDatabase' ? undefined : (error as Error)
  }
}

/** What is left out at the end of a word, or of all, has its mark. */
function shownArguments(typed: readonly string[], name: string): readonly string[] {
  const words = typed.slice(0, MOST_ARGUMENTS).map((word, at) => {
    const text = shown(word, name, typed[at - 1])
    return text.length > LONGEST_ARGUMENT ? `${text.slice(0, LONGEST_ARGUMENT)}${LEFT_OUT}` : text
  })
  return typed.length > MOST_ARGUMENTS ? [...words, LEFT_OUT] : words
}

/** Without keys, passwords of URLs, and the person that is being forgotten. */
function shown(word: string, name: string, before: string | undefined): string {
  if (name === 'decisions erase' && /^--subject(?:=|$)/.test(word)) return '--subject'
  if (name === 'decisions erase' && before === '--subject') return LEFT_OUT
  return word.includes('://') ? withoutSecrets(word) : withoutKeys(word)
}

/** Whoever is root can say anything in SUDO_USER; others have no reason to be believed. */
const SUDO_USER = /^[\w.-]{1,64}$/

/** The user of the operating system, and who became root by sudo. */
function personOf({ SUDO_USER: sudo = '' }: Readonly<Record<string, string | undefined>>): string {
  const name = userName()
  return `os:${process.getuid?.() === 0 && SUDO_USER.test(sudo) ? `${sudo}/${name}` : name}`
}

/** The number of a user that has no name, as in a container. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

function nameOf(command: CommandUnknownOpts): string {
  const names: string[] = []
  for (let at: CommandUnknownOpts | null = command; at?.parent; at = at.parent) names.unshift(at.name())
  return names.join(' ')
}
