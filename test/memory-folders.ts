/**
 * The folders of tests are in memory where the system has room there: what a database or a log makes durable then waits
 * for no disk. A TMPDIR that is set is used as it is.
 */
import { readFileSync, statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'
/** An image of containers, its engine's copy of it, and some databases. */
const ENOUGH_BYTES = 4e9

if (process.env.TMPDIR === undefined && isMemory() && room() > ENOUGH_BYTES) process.env.TMPDIR = MEMORY

/** Engines of containers mount it so that no program can be started there, which some tests do. */
function isMemory(): boolean {
  const [, options = 'noexec'] = new RegExp(`^\\S+ ${MEMORY} tmpfs (\\S+)`, 'm').exec(mounts()) ?? []
  return !options.split(',').includes('noexec')
}

/** Empty on other systems than Linux. */
function mounts(): string {
  try {
    return readFileSync('/proc/mounts', 'utf8')
  } catch {
    return ''
  }
}

function room(): number {
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize
}
