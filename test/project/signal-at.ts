/**
 * Loaded into a program by `--import`: the program gets a signal just before its n-th operation that makes, links
 * or renames a file. With SIGNAL_UNHELD nothing in the program can hold the signal back.
 */
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const { SIGNAL_AT, SIGNAL_NAME = 'SIGINT', SIGNAL_UNHELD } = process.env
let left = Number(SIGNAL_AT)

function counted<A extends unknown[], R>(work: (...args: A) => R, counts: (...args: A) => boolean): (...args: A) => R {
  return (...args) => {
    if (counts(...args) && --left === 0) process.kill(process.pid, SIGNAL_NAME)
    return work(...args)
  }
}

const writes = { mkdir: fs.mkdir, rename: fs.rename, link: fs.link, open: fs.open }
Object.assign(fs, {
  mkdir: counted(writes.mkdir, () => true),
  rename: counted(writes.rename, () => true),
  link: counted(writes.link, () => true),
  open: counted(writes.open, (_, flags) => flags === 'wx'),
})
syncBuiltinESMExports()

if (SIGNAL_UNHELD) {
  const on = process.on.bind(process)
  process.on = ((name: string, work: () => void) => {
    return name.startsWith('SIG') ? process : on(name as 'exit', work)
  }) as typeof process.on
}
