/** What a process has used, as Linux tells (proc(5)). */
import { readFileSync } from 'node:fs'

/** Ticks of USER_HZ, which is 100 on every Linux that Node runs on. */
const MICROS_A_TICK = 10_000

export interface Usage {
  /** User and system time of all threads since the start, in microseconds, to the hundredth of a second. */
  readonly cpuMicros: number
  /** Resident memory. */
  readonly mebibytes: number
}

export function usageOf(pid: number): Usage {
  // The name of the program, in parentheses, may hold anything.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return {
    cpuMicros: (Number(fields[11]) + Number(fields[12])) * MICROS_A_TICK,
    mebibytes: Number(resident) / 1024,
  }
}
