/** What changed routes mean for clients. */
import { say } from '../../../present/phrase.ts'
import type { Resource, Route } from '../../../resources/resource.ts'
import type { Unplaced } from './schema-change.ts'

export function compareRoutes(old: Resource, next: Resource): readonly Unplaced[] {
  const after = new Map(next.routes.map((route) => [route.path, route]))
  const before = new Map(old.routes.map((route) => [route.path, route]))
  const gone = old.routes.filter(({ path }) => !after.has(path))
  const added = next.routes.filter(({ path }) => !before.has(path))
  return [
    ...gone.map(({ path }) => about('route-removed', 'breaking', path, say`the path ${path} is gone`)),
    ...added.map(({ path }) => about('route-added', 'compatible', path, say`the path ${path} is new`)),
    ...old.routes.flatMap((route) => {
      const now = after.get(route.path)
      return now ? compareRoute(route, now) : []
    }),
  ]
}

function compareRoute(old: Route, next: Route): readonly Unplaced[] {
  const { path } = next
  const none = say`none`
  const [before, after] = [methodsOf(old), methodsOf(next)]
  const to = (route: Route) => JSON.stringify(route.redirect ?? null)
  const views = say`${path} shows the view ${old.view ?? none} -> ${next.view ?? none}`
  // Without a view it shows what it showed, and more.
  const viewEffect = next.view === undefined ? 'compatible' : 'unknown'
  return [
    ...before
      .difference(after)
      .keys()
      .map((one) => about('method-removed', 'breaking', path, say`${path} no longer accepts ${one}`)),
    ...after
      .difference(before)
      .keys()
      .map((one) => about('method-added', 'compatible', path, say`${path} accepts ${one}`)),
    ...changed(old.view !== next.view, about('view-changed', viewEffect, path, views)),
    ...changed(
      actionsOf(old) !== actionsOf(next),
      about(
        'action-changed',
        'unknown',
        path,
        say`rules about another action decide on ${path}: ${actionsOf(old)} -> ${actionsOf(next)}`,
      ),
    ),
    ...changed(
      to(old) !== to(next),
      about(
        'route-moved',
        next.redirect ? 'breaking' : 'compatible',
        path,
        next.redirect ? say`${path} is a redirect to ${next.redirect.to}` : say`${path} is no longer a redirect`,
      ),
    ),
    ...changed(
      JSON.stringify(old.lifecycle) !== JSON.stringify(next.lifecycle),
      about('route-retired', 'compatible', path, say`${path} has another deprecation, sunset or successor`),
    ),
    ...preconditionOf(old, next),
  ]
}

function preconditionOf(old: Route, next: Route): readonly Unplaced[] {
  if (old.precondition === next.precondition) return []
  return next.precondition === 'required'
    ? [about('precondition-added', 'breaking', next.path, say`writes of ${next.path} need If-Match`)]
    : [about('precondition-removed', 'compatible', next.path, say`writes of ${next.path} no longer need If-Match`)]
}

/** HEAD and OPTIONS come by themselves. */
function methodsOf({ endpoints }: Route): ReadonlySet<string> {
  return new Set([...endpoints.keys()].filter((method) => method !== 'HEAD' && method !== 'OPTIONS'))
}

/** Only of a route with a name of its own for its action. */
function actionsOf({ endpoints }: Route): string {
  const own = [...endpoints.values()].filter(({ operation, action }) => operation !== action)
  return own[0]?.action ?? 'its own'
}

function changed(is: boolean, change: Unplaced): readonly Unplaced[] {
  return is ? [change] : []
}

function about(code: string, effect: Unplaced['effect'], route: string, sentence: Unplaced['sentence']): Unplaced {
  return { code, effect, route, sentence }
}
