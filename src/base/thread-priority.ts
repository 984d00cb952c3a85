/** Lowers the priority of a thread, so that it gives way to requests if there are too few processors. */
import { platform, setPriority } from 'node:os'

/** `niceness` as in setpriority(2), 1 to 19: the higher, the less time the thread gets. */
export function giveWay(niceness: number): void {
  // On other systems this would change the priority of the whole server.
  if (platform() !== 'linux') return
  try {
    setPriority(niceness)
  } catch {
    // Not essential, and a sandbox may forbid it.
  }
}
