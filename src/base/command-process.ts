/**
 * What a command has of its process: environment, standard streams, signals and exit code. A command that runs within
 * another process (`run` in src/cli/run.ts) has those of its caller, and nothing of it stays behind.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Readable, Writable } from 'node:stream'

export type Variables = Record<string, string | undefined>

export type Environment = Readonly<Variables>

/** A terminal has these members; a file, a pipe and a text have none of them. */
interface OfTerminal {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export interface StandardStreams {
  readonly stdin: Readable & OfTerminal
  readonly stdout: Writable & OfTerminal
  readonly stderr: Writable & OfTerminal
}

export interface CommandProcess extends StandardStreams {
  readonly env: Variables
  /** A number; undefined counts as 0. */
  exitCode?: number | string | null | undefined
}

/** A command within another process, and how to undo what it left in that process. */
interface Inner {
  readonly process: CommandProcess
  readonly undo: (() => void)[]
}

const inner = new AsyncLocalStorage<Inner>()

/** That of the command that is running; the process itself outside of `runWithin`. */
export function commandProcess(): CommandProcess {
  return inner.getStore()?.process ?? process
}

/** The variables that a command sees. */
export function environment(): Variables {
  return commandProcess().env
}

/** 1: findings; 2: the command could not run. */
export function setExitCode(code: 0 | 1 | 2): void {
  commandProcess().exitCode = code
}

/** Whether the command is the process, so that it can go on when its function has ended, as a server does. */
export function isWholeProcess(): boolean {
  return inner.getStore() === undefined
}

/** Listens until the command ends. */
export function onSignals(signals: readonly NodeJS.Signals[], listener: () => void): void {
  for (const signal of signals) process.on(signal, listener)
  inner.getStore()?.undo.push(() => {
    for (const signal of signals) process.off(signal, listener)
  })
}

/** Runs `work` as a command of this process, and then takes its listeners away. */
export async function runWithin<T>(within: CommandProcess, work: () => Promise<T>): Promise<T> {
  const undo: Inner['undo'] = []
  try {
    return await inner.run({ process: within, undo }, work)
  } finally {
    for (const one of undo) one()
  }
}
