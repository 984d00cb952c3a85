/**
 * Checks that no request can match two routes (of one file or of two), and that no redirect leads to another redirect.
 */
import type { Diagnostic, Place } from '../../base/diagnostic.ts'
import type { Path } from '../../base/json-pointer.ts'
import { canBothMatch, declaredRoutes, type RouteDeclaration } from '../load/make-routes.ts'
import type { SchemaFile } from '../schema/schema-file.ts'
import { pathFault, routePath } from './routes.ts'

interface Placed {
  readonly file: SchemaFile
  readonly route: RouteDeclaration
  readonly at: Path
}

/** The files' `x-resource` must have passed checkXResource; routes with faulty paths are left out. */
export function checkClashes(files: readonly SchemaFile[]): readonly Diagnostic[] {
  const all = files.flatMap(placedRoutes)
  return [...all.flatMap((one, i) => clashFault(one, all.slice(0, i))), ...all.flatMap((one) => chainFault(one, all))]
}

function placedRoutes(file: SchemaFile): readonly Placed[] {
  return declaredRoutes(file)
    .map((route, i) => ({ file, route, at: routePath(i) }))
    .filter(({ route }) => pathFault(route.path) === undefined)
}

function clashFault({ file, route, at }: Placed, earlier: readonly Placed[]): readonly Diagnostic[] {
  const other = earlier.find((one) => canBothMatch(one.route.path, route.path))
  if (!other) return []
  const place = written(other.file.place([...other.at, 'path']))
  const message = `\`${route.path}\` and \`${other.route.path}\` (${place}) can match the same request`
  return [file.fault([...at, 'path'], 'route-clash', message)]
}

function chainFault({ file, route, at }: Placed, all: readonly Placed[]): readonly Diagnostic[] {
  const key = route.moved === undefined ? 'found' : 'moved'
  const next = all.find((one) => one.route.path === route[key] && one.route !== route)
  if (!next || (next.route.moved ?? next.route.found) === undefined) return []
  const message = `\`${route[key]}\` is itself a redirect (${written(next.file.place(next.at))})`
  return [file.fault([...at, key], 'route-redirect', message)]
}

function written({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`
}
