/** What a process has used, as Linux tells (proc(5)). */
import { readFileSync } from 'node:fs'

/** Ticks of USER_HZ, which is 100 on every Linux that Node runs on. */
const MICROS_A_TICK = 10_000

/** The places of utime, stime, cutime and cstime after the name of the program. */
const OWN = [11, 12]
const ENDED = [13, 14]

export interface Usage {
  /** User and system time of all threads since the start, in microseconds, to the hundredth of a second. */
  readonly cpuMicros: number
  /** Resident memory. */
  readonly mebibytes: number
}

export function usageOf(pid: number): Usage {
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuMicros: cpuMicros(pid, OWN), mebibytes: Number(resident) / 1024 }
}

/** With the time of its children that have ended. A process that has ended itself counts for its parent. */
export function cpuMicrosWithEnded(pid: number): number {
  try {
    return cpuMicros(pid, [...OWN, ...ENDED])
  } catch {
    return 0
  }
}

function cpuMicros(pid: number, places: readonly number[]): number {
  // The name of the program, in parentheses, may hold anything.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return places.reduce((sum, place) => sum + Number(fields[place]), 0) * MICROS_A_TICK
}
