/** `sallyport policy …`, within this process, or as `program` starts it. */
import { type Ended, ROOT, sallyport } from '../command.ts'
import { ranIn } from '../project/projects.ts'

export type { Ended }

export function policy(
  args: readonly string[],
  env: Record<string, string>,
  program: readonly string[] = [],
): Promise<Ended> {
  if (program.length === 0) return sallyport(['policy', ...args], { env })
  return ranIn(ROOT, { ...process.env, ...env }, [...program, 'policy', ...args])
}
