/** The programs of other people that tests run: found, or installed where that is possible. Tests are never skipped. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** As long as a test set-up may take where a program must be installed first. */
export const INSTALL_MS = 180_000

/** By the program's name, the Debian package that has it. */
const PACKAGES = {
  caddy: 'caddy',
  'chromium-headless-shell': 'chromium-headless-shell',
  curl: 'curl',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  ip: 'iproute2',
  iptables: 'iptables',
  nginx: 'nginx',
  openssl: 'openssl',
  patroni: 'patroni',
  pgbouncer: 'pgbouncer',
  podman: 'podman',
  postgres: 'postgresql',
  promtool: 'prometheus',
  'redis-server': 'redis-server',
  rsyslogd: 'rsyslog-gnutls',
  runc: 'runc',
  script: 'bsdutils',
  'ssh-agent': 'openssh-client',
  wrk: 'wrk',
} as const

type Program = keyof typeof PACKAGES

/** The path of a program; installs it where it is missing. */
export function program(name: Program): string {
  return findProgram(name) ?? installed(PACKAGES[name], () => findProgram(name))
}

/** Preloaded, it gives a program another wall clock. */
export function faketimeLibrary(): string {
  return findFaketime() ?? installed('faketime', findFaketime)
}

/** Installs all that are missing, or throws one sentence that names them and the command for them. */
export function installAll(): void {
  const missing = missingPackages()
  if (missing.length > 0) install(missing)
  const still = missingPackages()
  if (still.length > 0) throw new Error(advice(still))
}

/** Debian packages. */
function missingPackages(): readonly string[] {
  const missing = Object.entries(PACKAGES).flatMap(([name, debian]) => (findProgram(name) ? [] : [debian]))
  return findFaketime() ? missing : [...missing, 'faketime']
}

function installed(debianPackage: string, find: () => string | undefined): string {
  install([debianPackage])
  const found = find()
  if (found === undefined) throw new Error(advice([debianPackage]))
  return found
}

/** Says what it installs before it does. */
function install(packages: readonly string[]): void {
  const apt = findProgram('apt-get')
  if (process.getuid?.() !== 0 || apt === undefined) throw new Error(advice(packages))
  process.stderr.write(
    `the tests need programs that are missing: installing the Debian packages ${packages.join(', ')}\n`,
  )
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const wait = ['-o', 'DPkg::Lock::Timeout=120']
    execFileSync(apt, [...wait, 'update'], { env, stdio: 'pipe' })
    execFileSync(apt, [...wait, 'install', '-y', '--no-install-recommends', ...packages], { env, stdio: 'pipe' })
  } catch (cause) {
    throw new Error(advice(packages), { cause })
  }
}

function advice(packages: readonly string[]): string {
  return [
    `the tests need programs that are missing: ${packages.join(', ')}. Install them (on Debian and Ubuntu:`,
    `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}), and run the tests again;`,
    '`npm run test:quick` needs none of them',
  ].join(' ')
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
