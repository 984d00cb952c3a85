/** A user without rights, as whom tests that run as root start programs. */
import { chownSync, mkdirSync } from 'node:fs'

export const NOBODY = 65_534

/** What Node compiled for this user: without it, each of these programs would compile all of its files. */
const CACHE = new URL('../node_modules/.cache/sallyport-nobody', import.meta.url).pathname

mkdirSync(CACHE, { recursive: true })
if (process.getuid?.() === 0) chownSync(CACHE, NOBODY, NOBODY)

/** Stands before the words of a command. */
export const AS_NOBODY = [
  'setpriv',
  ...[`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--inh-caps=-all'],
  ...['env', `NODE_COMPILE_CACHE=${CACHE}`],
]
