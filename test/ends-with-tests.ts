/**
 * Programs and folders that end with the tests, however these end: by themselves, by a signal, or killed. A process
 * beside the tests (left-by-tests.ts) waits for that and ends what is left.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'

/** `folders` are deleted; `mounts` are unmounted before that. */
export type LeftKind = 'programs' | 'folders' | 'mounts'

const BESIDE = new URL('./left-by-tests.ts', import.meta.url).pathname

const PARENT_EVERY_MS = 500

/** For five seconds altogether. */
export const WITH_PATIENCE = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 } as const

const programs = new Set<ChildProcess>()
const folders = new Set<string>()
let beside: ChildProcess | undefined

/** Returns the child. */
export function endWithTests<C extends ChildProcess>(child: C): C {
  programs.add(child)
  note('add', 'programs', child.pid)
  child.once('close', () => {
    programs.delete(child)
    note('delete', 'programs', child.pid)
  })
  return child
}

/** Kills the program, and waits until it has ended, so that it writes nothing more. */
export async function endNow(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Returns the folder. */
export function removeWithTests(folder: string): string {
  folders.add(folder)
  note('add', 'folders', folder)
  return folder
}

/**
 * Every test removes its folders in this way. Whoever wrote there must have ended before; a program that ends late may
 * still write a file between the removal of the last one and that of the folder.
 */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, WITH_PATIENCE)
  forget(folder)
}

/** The same, for a hook that can't wait. */
export function removeNow(folder: string): void {
  rmSync(folder, WITH_PATIENCE)
  forget(folder)
}

function forget(folder: string): void {
  if (folders.delete(folder)) note('delete', 'folders', folder)
}

/** Its folder must be given to `removeWithTests` too. */
export function unmountWithTests(folder: string): void {
  note('add', 'mounts', folder)
}

function note(change: 'add' | 'delete', kind: LeftKind, value: unknown): void {
  beside ??= startBeside()
  beside.stdin?.write(`${JSON.stringify([change, kind, value])}\n`)
}

function startBeside(): ChildProcess {
  process.on('exit', endAll)
  for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
    process.once(signal, () => process.exit(code))
  }
  if (process.env.npm_command !== undefined) endWithNpm()
  // In a session of its own, so that a Ctrl-C doesn't reach it.
  const child = spawn(process.execPath, [BESIDE], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}

/** A signal that ends npm, or its shell, doesn't reach the tests. */
function endWithNpm(): void {
  const npm = npmAbove()
  setInterval(() => {
    if (npmAbove() !== npm) process.exit(143)
  }, PARENT_EVERY_MS).unref()
}

/** The process above this one, and the one above that if it is npm's shell. */
function npmAbove(): string {
  try {
    const [, name, above] = /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${process.ppid}/stat`, 'utf8')) ?? []
    return `${process.ppid} ${name === 'sh' ? above : ''}`
  } catch {
    // Other systems don't tell.
    return `${process.ppid}`
  }
}

function endAll(): void {
  for (const child of programs) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, WITH_PATIENCE)
}
