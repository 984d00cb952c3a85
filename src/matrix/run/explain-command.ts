/** The command that tells, for a cell, which rules decide and what is missing. */
import type { Expectation } from '../expectation.ts'

export function explainCommand({ method, path, object, column }: Expectation): string {
  const roles = column.kind === 'roles' ? column.roles.flatMap((role) => ['--role', role]) : []
  const subject = column.kind === 'user' ? ['--subject', column.id] : []
  const relation = object.kind === 'relations' ? ['--relation', object.names.join('+')] : []
  const words = ['policy', 'explain', ...roles, ...subject, method === 'HEAD' ? 'GET' : method, path, ...relation]
  return `npm run -s sallyport -- ${words.map(quoted).join(' ')}`
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
