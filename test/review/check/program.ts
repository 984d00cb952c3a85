/** `sallyport policy check` in a folder, for 2026-06-01. */
import { type Ended, sallyport } from '../../command.ts'

export function policyCheck(args: readonly string[], cwd: string): Promise<Ended> {
  return sallyport(['policy', 'check', '--at', '2026-06-01T00:00:00Z', ...args], { cwd })
}
