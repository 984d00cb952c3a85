/** The programs of other people that tests run: found, or installed where that is possible. Tests are never skipped. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** As long as a test set-up may take where a program must be installed first. */
export const INSTALL_MS = 180_000

/** By the program's name, the Debian package that has it. */
const PACKAGES = {
  caddy: 'caddy',
  chromium: 'chromium',
  curl: 'curl',
  haproxy: 'haproxy',
  nginx: 'nginx',
  openssl: 'openssl',
  pgbouncer: 'pgbouncer',
  postgres: 'postgresql',
  'redis-server': 'redis-server',
  script: 'bsdutils',
  wrk: 'wrk',
} as const

type Program = keyof typeof PACKAGES

/** The path of a program; installs it where it is missing. */
export function program(name: Program): string {
  return findProgram(name) ?? install(PACKAGES[name], () => findProgram(name))
}

/** Preloaded, it gives a program another wall clock. */
export function faketimeLibrary(): string {
  return findFaketime() ?? install('faketime', findFaketime)
}

/** Throws for the first that is missing and can't be installed. */
export function installAll(): void {
  for (const name of Object.keys(PACKAGES)) program(name as Program)
  faketimeLibrary()
}

function findFaketime(): string | undefined {
  return globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0]
}

function findProgram(name: string): string | undefined {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    '/usr/local/sbin',
    ...globSync('/usr/lib/postgresql/*/bin'),
  ]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Installs a Debian package where that is possible, and says what is needed where it isn't. */
function install(debianPackage: string, find: () => string | undefined): string {
  const advice = `these tests need ${debianPackage}: install it (Debian and Ubuntu: apt-get install ${debianPackage}) and run them again`
  const apt = findProgram('apt-get')
  if (process.getuid?.() !== 0 || apt === undefined) throw new Error(advice)
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const wait = ['-o', 'DPkg::Lock::Timeout=120']
    execFileSync(apt, [...wait, 'update'], { env, stdio: 'pipe' })
    execFileSync(apt, [...wait, 'install', '-y', '--no-install-recommends', debianPackage], { env, stdio: 'pipe' })
  } catch (cause) {
    throw new Error(advice, { cause })
  }
  const found = find()
  if (found === undefined) throw new Error(advice)
  return found
}
