/** A caller as a person names it on the command line: `user:` and the id. */
import { isSubject } from '../../identity/caller.ts'
import { ToolError } from '../load-policy.ts'

/** The id. Throws ToolError. */
export function subjectIn(named: string): string {
  const id = named.startsWith('user:') ? named.slice('user:'.length) : undefined
  if (id !== undefined && isSubject(id)) return id
  throw new ToolError(`\`${named}\` is no caller: write \`user:\` and the id, as in user:alice`)
}
