/** The command that tells, for a cell, which rules decide and what is missing. */

import type { Expectation } from '../read/expectation.ts'
import type { Folders } from './bind.ts'

export function explainCommand({ method, path, object, column }: Expectation, { policies, schemas }: Folders): string {
  const roles = column.kind === 'roles' ? column.roles.flatMap((role) => ['--role', role]) : []
  const subject = column.kind === 'user' ? ['--subject', column.id] : []
  const relation = object.kind === 'relations' ? ['--relation', object.names.join('+')] : []
  // What the command takes by itself, as long as the environment says nothing else.
  const folders = [
    ...(policies === 'policies' ? [] : ['--policies', policies]),
    ...(schemas === 'schemas' ? [] : ['--schemas', schemas]),
  ]
  const asked = [method === 'HEAD' ? 'GET' : method, path, ...relation]
  const words = ['policy', 'explain', ...roles, ...subject, ...asked, ...folders]
  return `npm run -s sallyport -- ${words.map(quoted).join(' ')}`
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
