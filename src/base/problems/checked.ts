/** What a check of an installation found. */
export interface Checked {
  /** What was checked: `node`, `database`. */
  readonly check: string
  readonly state: 'ok' | 'warning' | 'fault' | 'not checked'
  /** One sentence, without a final period. */
  readonly message: string
  /** The command that fixes it (fix.ts). */
  readonly fix?: string
}

export function passed(check: string, message: string): Checked {
  return { check, state: 'ok', message }
}

export function unchecked(check: string, why: string): Checked {
  return { check, state: 'not checked', message: why }
}

export function warned(check: string, message: string, fix?: string): Checked {
  return { check, state: 'warning', message, ...(fix !== undefined && { fix }) }
}

export function faulted(check: string, message: string, fix?: string): Checked {
  return { check, state: 'fault', message, ...(fix !== undefined && { fix }) }
}

/** If two clocks differ by more, in milliseconds, somebody should know. */
const CLOCKS_MS = 2000

/** `theirs` and `ours`: milliseconds since the epoch; `aroundMs`: how long the question and its answer took. */
export function clockChecked(
  check: string,
  { theirs, ours, aroundMs }: { readonly theirs: number; readonly ours: number; readonly aroundMs: number },
): Checked {
  const apart = Math.abs(theirs - ours)
  const seconds = `${(apart / 1000).toFixed(1)} s`
  if (apart <= CLOCKS_MS + aroundMs) return passed(check, `its clock and the clock here differ by ${seconds}`)
  const side = theirs > ours ? 'behind' : 'ahead'
  return warned(check, `the clock here is ${seconds} ${side} of its clock`, 'sudo timedatectl set-ntp true')
}
