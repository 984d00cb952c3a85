/**
 * The parameters of a query string, for every route: decoded, and each at most once. Other files read their meaning.
 */
import { Problem } from '../../base/problems/problem.ts'
import { decode } from '../../resources/routing/request-target.ts'

/** Throws Problem invalid-query. A parameter may appear once: clients can't know which of two would count. */
export function readQuery(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const pair of query === '' ? [] : query.split('&')) {
    const [name, value] = splitPair(pair).map((part) => decode(part.replaceAll('+', ' ')))
    if (name === undefined || value === undefined) {
      throw new Problem('invalid-query', 'The query has faulty percent-encoding; encode it as UTF-8.')
    }
    if (name === '')
      throw new Problem('invalid-query', 'The query has a parameter without a name; remove the stray & or =.')
    if (parameters.has(name))
      throw new Problem('invalid-query', `The query parameter ${name} is repeated; send it once.`)
    parameters.set(name, value)
  }
  return parameters
}

/** Throws Problem invalid-query: for a route that takes no parameters. */
export function refuseParameters(parameters: ReadonlyMap<string, string>): void {
  for (const name of parameters.keys()) throw unknownParameter(name, [])
}

/** The query of an item. Throws Problem invalid-query. */
export function readItemQuery(parameters: ReadonlyMap<string, string>): { readonly can: boolean } {
  for (const name of parameters.keys()) if (name !== 'can') throw unknownParameter(name, ['can'])
  return { can: readCan(parameters.get('can')) }
}

/** Throws Problem invalid-query. */
export function readCan(text: string | undefined): boolean {
  if (text === undefined || text === 'true') return text !== undefined
  throw new Problem('invalid-query', 'The query parameter can must be true; omit it if you need no abilities.')
}

/** `accepted` contains only names that the caller may know. */
export function unknownParameter(name: string, accepted: readonly string[]): Problem {
  const advice = accepted.length === 0 ? 'omit it' : `use some of: ${accepted.join(', ')}`
  return new Problem('invalid-query', `This route has no query parameter ${name}; ${advice}.`)
}

function splitPair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
}
