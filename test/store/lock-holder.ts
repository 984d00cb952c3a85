/** A process that holds a database's lock until it is told to let go (argument: the file), and who is answered meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface HeldLock {
  release(): Promise<void>
}

/** Nobody else can write until the lock is released. */
export async function holdLock(file: string): Promise<HeldLock> {
  const child: ChildProcess = spawn(process.execPath, [fileURLToPath(import.meta.url), file])
  child.stderr?.pipe(process.stderr)
  if (child.stdout) await once(child.stdout, 'data')
  return {
    async release() {
      const ended = once(child, 'exit')
      child.stdin?.end()
      await ended
    },
  }
}

/** A write that fails at the lock waits for a second; who isn't kept waiting is answered far more often. */
export const FEW = 3

/** How often `ask` is answered until the write has ended. */
export async function answersDuring(write: Promise<unknown>, ask: () => unknown): Promise<number> {
  let ended = false
  const end = write.finally(() => {
    ended = true
  })
  let answers = 0
  while (!ended) {
    await ask()
    await sleep(1)
    if (!ended) answers += 1
  }
  await end
  return answers
}

if (import.meta.main) {
  const database = new DatabaseSync(process.argv[2] ?? '', { timeout: 5000 })
  database.exec('begin immediate')
  process.stdout.write('held\n')
  process.stdin.on('end', () => database.close()).resume()
}
