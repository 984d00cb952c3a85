/** Runs beside tests, is told what they start, and ends what is left when they are gone (ends-with-tests.ts). */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LeftKind, WITH_PATIENCE } from './ends-with-tests.ts'

const ENDED_WITHIN_MS = 10_000

const left: Readonly<Record<LeftKind, Set<string | number>>> = {
  programs: new Set(),
  folders: new Set(),
  mounts: new Set(),
}

for await (const line of createInterface({ input: process.stdin })) {
  const [change, kind, value] = JSON.parse(line) as ['add' | 'delete', LeftKind, string | number]
  left[kind][change](value)
}

const pids = [...left.programs].map(Number)
for (const pid of pids) tell(pid, 'SIGKILL')
for (const end = Date.now() + ENDED_WITHIN_MS; pids.some((pid) => tell(pid, 0)) && Date.now() < end; ) await sleep(20)
for (const mount of left.mounts) spawnSync('umount', ['--lazy', `${mount}`])
// Processes of a killed PostgreSQL may still write for a moment.
for (const folder of left.folders) rmSync(`${folder}`, WITH_PATIENCE)

/** False if there is no such process. */
function tell(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
