/** The routes that gateways can ask about: those of schema files. The program's own are not the application's. */
import type { Resources, Route } from '../resource.ts'

export function forwardedRoutes({ byName }: Resources): readonly Route[] {
  return [...byName.values()].filter(({ builtIn }) => !builtIn).flatMap(({ routes }) => routes)
}
