/** How long the program takes as its users start it, and the most memory that it has. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { LAUNCHER } from './command.ts'

export interface Measured {
  /** The first megabytes; a report may be longer. */
  readonly output: string
  readonly lines: number
  readonly milliseconds: number
  /** Of all its threads, in milliseconds; it hardly depends on what else the machine does. */
  readonly cpu: number
  readonly megabytes: number
}

const MOST_OUTPUT = 4_000_000
/** On Linux. */
const MS_A_TICK = 10

/** Throws for another exit code than 0, with what the program says about it. */
export async function measure(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Measured> {
  const begun = performance.now()
  const child = spawn(process.execPath, [LAUNCHER, ...args], { env: { ...process.env, ...env } })
  let [lines, most, cpu, output, problem] = [0, 0, 0, '', '']
  child.stdout.on('data', (chunk: Buffer) => {
    if (output.length < MOST_OUTPUT) output += chunk
    for (const byte of chunk) if (byte === 10) lines += 1
  })
  child.stderr.on('data', (chunk: Buffer) => {
    problem += chunk
  })
  const timer = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    most = Math.max(most, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024)
    const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => '')
    // utime and stime (proc_pid_stat(5)), behind the name in brackets.
    const [user = 0, system = 0] = (stat.split(') ')[1] ?? '').split(' ').slice(11, 13).map(Number)
    cpu = Math.max(cpu, (user + system) * MS_A_TICK)
  }, 50)
  const [code] = await once(child, 'close')
  clearInterval(timer)
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${problem}`)
  return { output, lines, cpu, milliseconds: performance.now() - begun, megabytes: most }
}

/** The milliseconds of processor time that this process uses meanwhile: a busy machine hardly changes them. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const begun = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1000
}
