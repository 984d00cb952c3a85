/** Requests one after another, in memory: each sees what the ones before it wrote. */
import type { Json, Method, Route } from '../../../resources/resource.ts'
import { predict } from './answer.ts'
import type { Given } from './compare-answer.ts'
import type { Asker, Grants } from './grants.ts'
import type { Predictor } from './predict-cell.ts'
import type { Objects } from './situation.ts'

export interface Request {
  readonly asker: Asker
  readonly method: Method
  /** Without a query; the id as it is, not percent-encoded. */
  readonly path: string
  readonly body: Readonly<Record<string, Json>> | undefined
}

export interface Told extends Given {
  /** The store after the request. */
  readonly objects: Objects
}

export function tell(predictor: Predictor, grants: Grants, objects: Objects, request: Request): Told {
  const { asker, method, path, body } = request
  const route = predictor.resources.routes.find((one) => idIn(one, path) !== undefined)
  if (!route) return { answer: { status: 404 }, situation: undefined, objects }
  const spot = predictor.spots.get(`${method} ${route.path}`)
  if (!spot) return { answer: { status: 405 }, situation: undefined, objects }
  const situation = { grants, spot, asker, id: idIn(route, path) || undefined, body, objects, now: predictor.now }
  const answer = predict(situation)
  return { answer, situation, objects: answer.written ? withWritten(objects, route.resource, answer.written) : objects }
}

/** The `{id}` of a path that the route fits, empty where it has none; undefined where it doesn't fit. */
function idIn({ path }: Route, asked: string): string | undefined {
  const [before = '', after] = path.split('{id}')
  if (after === undefined) return asked === path ? '' : undefined
  const fits = asked.startsWith(before) && asked.endsWith(after)
  const id = fits ? asked.slice(before.length, asked.length - after.length) : ''
  return id === '' || id.includes('/') ? undefined : id
}

function withWritten(
  objects: Objects,
  resource: string,
  { id, object }: NonNullable<Given['answer']['written']>,
): Objects {
  const others = [...(objects.get(resource) ?? [])].filter(([key]) => key !== id)
  return new Map([...objects, [resource, new Map(object ? [...others, [id, object]] : others)]])
}
