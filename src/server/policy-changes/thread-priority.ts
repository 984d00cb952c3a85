/** Work beside requests, in a thread that gives way to them where there are fewer processors than work. */
import { platform, setPriority } from 'node:os'

/** `niceness` as setpriority(2) has it, 1 to 19: the more, the less time it gets from others who want it. */
export function giveWay(niceness: number): void {
  // Elsewhere a priority isn't a thread's own, but that of the whole server.
  if (platform() !== 'linux') return
  try {
    setPriority(niceness)
  } catch {
    // A courtesy, which a sandbox may forbid.
  }
}
