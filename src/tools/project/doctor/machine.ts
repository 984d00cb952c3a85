/** The machine: Node, the program's own files, its limits, its clock and its ports. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Checked, faulted, passed, unchecked, warned } from '../../../base/problems/checked.ts'
import { againWith, shellWord } from '../../../base/problems/fix.ts'
import type { Config } from '../../../config/config.ts'
import { faultOfPort, type ListeningPlace, portFault } from '../../../config/start/start-faults.ts'
import { missingFiles, packageJson } from '../package-files.ts'

const MEBIBYTE = 2 ** 20
/** Of each process, after a load (docs/operating.md, Size). */
const PROCESS_BYTES = 180 * MEBIBYTE
/** A connection of a client takes a descriptor. */
const FEW_DESCRIPTORS = 4096

export async function checkNode(): Promise<readonly Checked[]> {
  const needed = leastMajor((await packageJson()).engines?.node)
  const own = leastMajor(await projectEngine())
  const running = Number(process.versions.node.split('.')[0])
  const message = `Node ${process.versions.node}, ${needed} or newer is needed`
  const fix = (major: number) => `npm install node@${major}`
  if (running < needed) return [faulted('node', `${message}; it is too old`, fix(needed))]
  if (running < own)
    return [warned('node', `package.json asks for Node ${own} or newer, this is Node ${running}`, fix(own))]
  return [passed('node', message)]
}

function leastMajor(engine = ''): number {
  return Number(/(\d+)/.exec(engine)?.[1] ?? 0)
}

/** Of the project in the current folder. */
async function projectEngine(): Promise<string | undefined> {
  try {
    return JSON.parse(await readFile('package.json', 'utf8')).engines?.node
  } catch {
    return undefined
  }
}

export async function checkProgram(): Promise<readonly Checked[]> {
  const { version, private: isCheckout } = await packageJson()
  const missing = await missingFiles()
  if (missing.length === 0) return [passed('program', `sallyport ${version} has all its files`)]
  const fix = isCheckout
    ? `git checkout HEAD -- ${missing.map(shellWord).join(' ')}`
    : `npm install sallyport@${version} --force`
  return [faulted('program', `sallyport ${version} lacks ${missing.join(', ')}`, fix)]
}

export async function checkLimits(workers: number): Promise<readonly Checked[]> {
  return [await descriptors(), memory(workers), processors(workers)]
}

async function descriptors(): Promise<Checked> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const [, soft = ''] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? []
  if (soft === '') return unchecked('limits', "the system doesn't tell how many files may be open")
  const message = `${soft} files may be open, one for each connection of a client`
  return Number(soft) < FEW_DESCRIPTORS ? warned('limits', message, 'ulimit -n 65536') : passed('limits', message)
}

/** Of the cgroup, as in a container. */
function memory(workers: number): Checked {
  const limit = process.constrainedMemory() || 0
  const wanted = (workers === 1 ? 1 : workers + 1) * PROCESS_BYTES
  if (limit === 0 || limit > 2 ** 50) return passed('limits', 'no limit of memory')
  const message = `the limit of memory is ${Math.round(limit / MEBIBYTE)} MiB, and the server takes about ${wanted / MEBIBYTE} MiB`
  return limit < wanted ? warned('limits', message) : passed('limits', message)
}

function processors(workers: number): Checked {
  const cores = availableParallelism()
  const message = `${workers} of ${cores} processors used (WORKERS)`
  return workers > cores ? warned('limits', message, `WORKERS=${cores} {again}`) : passed('limits', message)
}

/** When this was written: no clock is right before it. */
const WRITTEN = Date.UTC(2026, 10, 1)
const LOOK_MS = 200
const JUMP_MS = 100

export async function checkClock(): Promise<readonly Checked[]> {
  const [wall, monotonic] = [Date.now(), performance.now()]
  const synchronized = await isSynchronized()
  await sleep(LOOK_MS)
  const jump = Math.abs(Date.now() - wall - (performance.now() - monotonic))
  const now = new Date().toISOString()
  const set = 'sudo timedatectl set-ntp true'
  if (wall < WRITTEN) return [faulted('clock', `the clock says ${now}, which is in the past`, set)]
  if (jump > JUMP_MS) return [warned('clock', `the clock jumped ${jump.toFixed(0)} ms while it was looked at`, set)]
  if (synchronized === undefined)
    return [unchecked('clock', `the clock says ${now}; the system doesn't tell whether it is synchronized`)]
  if (!synchronized) return [warned('clock', `the clock says ${now}, and nothing synchronizes it`, set)]
  return [passed('clock', `the clock says ${now}, and is synchronized`)]
}

function isSynchronized(): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    const args = ['show', '--property=NTPSynchronized', '--value']
    execFile('timedatectl', args, { timeout: 2000 }, (error, stdout) => {
      resolve(error ? undefined : stdout.trim() === 'yes')
    })
  })
}

// ---- The ports: free, or who answers there; and the address that other services get.

const ANSWER_MS = 2000

export async function checkPorts({ host, port, admin, publicUrl }: Config): Promise<readonly Checked[]> {
  const adminPlace = { name: 'ADMIN_PORT', host: admin.host, port: admin.port } as const
  const isOurs = await answersAsOurs(adminPlace)
  const places = [{ name: 'PORT', host, port } as const, adminPlace]
  return [...(await Promise.all(places.map((place) => checkPort(place, isOurs)))), ...checkAddress(host, publicUrl)]
}

/** Where the server listens on every address, none of them is known to others (docs/authzen.md, the metadata). */
function checkAddress(host: string, publicUrl: string | undefined): readonly Checked[] {
  if (publicUrl !== undefined || (host !== '0.0.0.0' && host !== '::')) return []
  const message = `PUBLIC_URL is not set, so other services that ask are told to ask ${host}, which they can't reach`
  return [warned('ports', message, againWith('PUBLIC_URL', 'https://api.example.com'))]
}

async function checkPort(place: ListeningPlace, isOurs: boolean): Promise<Checked> {
  const { name, host, port } = place
  if (port === 0) return passed('ports', `${name} is 0: the system chooses one`)
  const fault = await faultOfPort(port, host)
  if (fault === undefined) return passed('ports', `${name} ${port} of ${host} is free`)
  if (fault.code === 'EADDRINUSE' && isOurs) {
    return passed('ports', `${name} ${port} of ${host} is taken, and a Sallyport server answers on the admin port`)
  }
  const { message, fix } = await portFault(place, fault)
  return faulted('ports', message, fix)
}

/** Only the admin port is asked: a request to the other one would leave a record in the decision log. */
async function answersAsOurs({ host, port }: ListeningPlace): Promise<boolean> {
  const here = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const url = `http://${here.includes(':') ? `[${here}]` : here}:${port}/livez`
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) })
    return typeof ((await response.json()) as { status?: unknown }).status === 'string'
  } catch {
    return false
  }
}
