/** The action that somebody means who writes `GET`, `edit` or `raed`. */
import { didYouMean } from '../../base/did-you-mean.ts'

/** What people call the actions elsewhere. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...['get', 'head', 'view', 'show', 'fetch', 'retrieve', 'see'].map((name) => [name, 'read'] as const),
  ...['index', 'search', 'query', 'browse', 'find'].map((name) => [name, 'list'] as const),
  ...['post', 'add', 'insert', 'new', 'make'].map((name) => [name, 'create'] as const),
  ...['put', 'overwrite'].map((name) => [name, 'replace'] as const),
  ...['patch', 'edit', 'write', 'modify', 'change', 'save'].map((name) => [name, 'update'] as const),
  ...['remove', 'destroy', 'erase', 'del'].map((name) => [name, 'delete'] as const),
])

/** `; did you mean \`read\`?`, for the end of a sentence; empty if no known action is near. */
export function meantAction(name: string, known: ReadonlySet<string>): string {
  const meant = ELSEWHERE.get(name.toLowerCase())
  return meant !== undefined && known.has(meant) ? `; did you mean \`${meant}\`?` : didYouMean(name, known)
}

/** All known actions, then the one that is meant. */
export function oneOfActions(name: string, known: ReadonlySet<string>): string {
  return `one of ${[...known].join(', ')}${meantAction(name, known)}`
}
