/** What changed routes mean for clients. */
import { isDeepStrictEqual } from 'node:util'
import { durationText } from '../../../base/time.ts'
import { type Phrase, say } from '../../../present/phrase.ts'
import type { Resource, Route } from '../../../resources/resource.ts'
import type { CodedChange, Unplaced } from './schema-change.ts'

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
  const { path, redirect } = next
  const [before, after] = [methodsOf(old), methodsOf(next)]
  const none = say`none`
  const views = say`${path} shows the view ${old.view ?? none} -> ${next.view ?? none}`
  // Without a view it shows what it showed, and more.
  const viewEffect = next.view === undefined ? 'compatible' : 'unknown'
  const actions = say`rules about another action decide on ${path}: ${actionsOf(old)} -> ${actionsOf(next)}`
  const moved = redirect ? say`${path} is a redirect to ${redirect.to}` : say`${path} is no longer a redirect`
  const retired = say`${path} has another deprecation, sunset or successor`
  const changed = (was: unknown, is: unknown, [code, effect, sentence]: CodedChange) =>
    isDeepStrictEqual(was, is) ? [] : [about(code, effect, path, sentence)]
  const guard: CodedChange =
    next.precondition === 'required'
      ? ['precondition-added', 'breaking', say`writes of ${path} need If-Match`]
      : ['precondition-removed', 'compatible', say`writes of ${path} no longer need If-Match`]
  const [gone, added] = [[...before.difference(after)], [...after.difference(before)]]
  return [
    ...gone.map((one) => about('method-removed', 'breaking', path, say`${path} no longer accepts ${one}`)),
    ...added.map((one) => about('method-added', 'compatible', path, say`${path} accepts ${one}`)),
    ...changed(old.view, next.view, ['view-changed', viewEffect, views]),
    ...changed(actionsOf(old), actionsOf(next), ['action-changed', 'unknown', actions]),
    ...changed(old.redirect, next.redirect, ['route-moved', redirect ? 'breaking' : 'compatible', moved]),
    ...changed(old.lifecycle, next.lifecycle, ['route-retired', 'compatible', retired]),
    ...changed(old.command, next.command, [
      'command-changed',
      'unknown',
      say`the command at ${path} does something else`,
    ]),
    ...changed(old.history, next.history, [
      'history-changed',
      ...keptFor(old.history, next.history, say`versions at ${path} are kept`),
    ]),
    ...changed(old.events, next.events, eventsChange(old, next)),
    ...changed(old.precondition, next.precondition, guard),
  ]
}

function eventsChange({ events: old }: Route, { path, events: next }: Route): CodedChange {
  const code = 'events-changed'
  if (old && next) return [code, ...keptFor(old, next, say`events at ${path} are kept`)]
  return [code, 'breaking', next ? say`${path} is a stream of events` : say`${path} is no longer a stream of events`]
}

type KeptTime = { readonly keepMs: number } | undefined

/** What is older than it is kept now ends. */
function keptFor(old: KeptTime, next: KeptTime, what: Phrase): readonly [CodedChange[1], Phrase] {
  const [before, after] = [old?.keepMs ?? 0, next?.keepMs ?? 0]
  const sentence = say`${what} for ${durationText(before)} -> ${durationText(after)}`
  return [after < before ? 'breaking' : 'compatible', sentence]
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

function about(code: string, effect: CodedChange[1], route: string, sentence: CodedChange[2]): Unplaced {
  return { code, effect, route, sentence }
}
