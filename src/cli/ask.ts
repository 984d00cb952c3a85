/** Questions on a terminal: for a line, and for a password, which is asked for twice and never shown. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { commandProcess } from '../base/command-process.ts'
import { DirectoryError } from '../identity/directory/directory-access.ts'
import { passwordFault } from '../identity/sign-in/password.ts'
import { printNote } from '../present/print.ts'

/** The answer; undefined where standard input has ended. `lines` outlives the question: typed lines may come early. */
export async function askLine(question: string, lines: AsyncIterator<string>): Promise<string | undefined> {
  printNote(question)
  const { done, value } = await lines.next()
  return done ? undefined : value
}

/**
 * A password is never an argument: the shell's history keeps arguments, and every user of the machine can list them.
 * Throws DirectoryError.
 */
export async function readPassword(): Promise<string> {
  const password = commandProcess().stdin.isTTY ? await askTwice() : await readLine()
  const fault = passwordFault(password)
  if (fault !== undefined) throw new DirectoryError(`the password ${fault}`)
  return password
}

async function readLine(): Promise<string> {
  const line = (await text(commandProcess().stdin)).replace(/\r?\n$/, '')
  if (/[\r\n]/.test(line)) throw new DirectoryError('standard input has several lines: send the password as one line')
  return line
}

async function askTwice(): Promise<string> {
  // Discards the echo of typed characters.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: commandProcess().stdin, output, terminal: true, historySize: 0 })
  const lines = terminal[Symbol.asyncIterator]()
  try {
    const password = await ask('New password: ', lines)
    if ((await ask('Again: ', lines)) === password) return password
  } finally {
    terminal.close()
  }
  throw new DirectoryError('the two passwords differ, so nothing was changed: run the command again')
}

async function ask(question: string, lines: AsyncIterator<string>): Promise<string> {
  const answer = await askLine(question, lines)
  commandProcess().stderr.write('\n')
  if (answer === undefined)
    throw new DirectoryError('no password was given, so nothing was changed: run the command again')
  return answer
}
