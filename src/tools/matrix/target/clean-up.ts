/** Remembers what a run created in a deployment, and removes it. */
import type { Resources } from '../../../resources/resource.ts'
import { askPatiently, NoAnswer, type Patience } from './http.ts'

export interface Trace {
  readonly resource: string
  readonly id: string
  /** Whose tokens may remove it, the likeliest first. */
  readonly tokens: readonly string[]
}

export interface Deployment {
  readonly url: string
  readonly resources: Resources
  readonly patience: Patience
}

/** Ids that a remark names. */
const NAMED = 3
const PARALLEL = 8

/** Removes all, the newest first. Returns a sentence for each resource and reason for which something remains. */
export async function cleanUp(deployment: Deployment, traces: readonly Trace[]): Promise<readonly string[]> {
  const left: { readonly trace: Trace; readonly why: string }[] = []
  const queue = traces.toReversed().values()
  const work = async () => {
    for (const trace of queue) {
      const why = await remove(deployment, trace)
      if (why !== undefined) left.push({ trace, why })
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  const groups = Map.groupBy(left, ({ trace, why }) => `${trace.resource}\n${why}`)
  return [...groups.values()].map(remark)
}

function remark(left: readonly { readonly trace: Trace; readonly why: string }[]): string {
  const { resource = '', id = '' } = left[0]?.trace ?? {}
  const named = left.slice(0, NAMED).map(({ trace }) => trace.id)
  const ids = left.length > NAMED ? `${named.join(', ')}, …` : named.join(', ')
  const what = left.length === 1 ? `The object ${id} of ${resource}` : `${left.length} objects of ${resource} (${ids})`
  return `${what} could not be removed: ${left[0]?.why}.`
}

/** Undefined if the object is gone. */
async function remove(
  { url, resources, patience }: Deployment,
  { resource, id, tokens }: Trace,
): Promise<string | undefined> {
  const route = resources.byName
    .get(resource)
    ?.routes.find(({ kind, endpoints, redirect }) => kind === 'item' && !redirect && endpoints.has('DELETE'))
  if (!route) return 'no route of the resource accepts DELETE'
  const address = url + route.path.replace('{id}', () => encodeURIComponent(id))
  let last = 'no token may delete it'
  for (const token of tokens) {
    const request = { method: 'DELETE', url: address, token, headers: { 'if-match': '*' } }
    const answer = await askPatiently(request, patience).catch((error) => {
      if (error instanceof NoAnswer) return error
      throw error
    })
    if (answer instanceof NoAnswer) return answer.message
    if (answer.status === 404 || (answer.status >= 200 && answer.status < 300)) return undefined
    last = `DELETE got ${answer.status}`
  }
  return last
}
