/** Runs one command line: arguments in, exit code out. 0: no findings; 1: findings; 2: the command could not run. */
import { resolve } from 'node:path'
import { CommanderError } from 'commander'
import {
  type CommandProcess,
  commandProcess,
  runWithin,
  type StandardStreams,
  setExitCode,
  type Variables,
} from '../base/command-process.ts'
import { failureText } from '../config/fix-of.ts'
import type { ToSign } from '../identity/keys/key-elsewhere.ts'
import { print, printProblem } from '../present/print.ts'
import { runProgram } from './program.ts'

/** Errors whose message was written for whoever starts the program, by name: most of their classes aren't loaded. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([
  'ConfigError',
  'DamagedObject',
  'DemoRefused',
  'DirectoryError',
  'FileError',
  'Incomparable',
  'KeyError',
  'LeaseLost',
  'LinkOut',
  'MigrationRefused',
  'ToolError',
  'UnfitDatabase',
  'UnfitObject',
])

export interface CommandPlace extends StandardStreams {
  /** The working directory. */
  readonly cwd: string
  readonly env: Readonly<Variables>
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command within this process, and leaves nothing of it behind: no listener, variable or working directory. A
 * process has one working directory, so commands wait for each other. Never throws for what a command line can cause.
 */
export function run(argv: readonly string[], place: CommandPlace): Promise<number> {
  return runAs(place, () => runHere(argv))
}

/** Runs `work` like a command; throws what it throws. */
export function runAs({ cwd, env, stdin, stdout, stderr }: CommandPlace, work: () => Promise<void>): Promise<number> {
  const mine = last.then(async () => {
    const within: CommandProcess = { env: { ...env }, stdin, stdout, stderr }
    const before = process.cwd()
    process.chdir(resolve(cwd))
    try {
      await runWithin(within, work)
    } finally {
      process.chdir(before)
    }
    return Number(within.exitCode ?? 0)
  })
  last = mine.catch(() => undefined)
  return mine
}

/** Runs a command as this process. Throws only if a file of the program is missing, which its launcher reports. */
export async function runHere(argv: readonly string[]): Promise<void> {
  try {
    await runProgram(argv)
  } catch (error) {
    if (error instanceof CommanderError) commandProcess().exitCode = error.exitCode === 0 ? 0 : 2
    // The key is elsewhere, so this is the result.
    else if (isToSign(error)) print(`${JSON.stringify({ toSign: error.text })}\n`)
    // bin/sallyport.js reports a lost file, because the one that reports could be lost too.
    else if ((error as NodeJS.ErrnoException)?.code === 'ERR_MODULE_NOT_FOUND') throw error
    else fail(error, argv)
  }
}

function isToSign(error: unknown): error is ToSign {
  return (error as Error)?.name === 'ToSign'
}

/** A sentence for whoever can do something about it; a fault of the program keeps its stack. */
function fail(error: unknown, argv: readonly string[]): void {
  const known = FOR_PEOPLE.has((error as Error)?.name) || (error as NodeJS.ErrnoException)?.syscall
  const { stack } = error instanceof Error ? error : new Error(String(error))
  printProblem(`sallyport: ${known ? failureText(error as Error, argv) : stack}\n`)
  setExitCode(2)
}
