/** Resources of test/policy/fixture.ts with routes of every kind, and matrices of policies over them. */

import type { Policy } from '../../../src/decide/policy.ts'
import { parseBlocked } from '../../../src/policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import { makeEndpoints } from '../../../src/resources/load/make-routes.ts'
import type { Operation, Resource, Resources, Route } from '../../../src/resources/resource.ts'
import { buildMatrix, chooseColumns, type Matrix } from '../../../src/tools/permissions/matrix.ts'
import { DOCS, HEALTH, JOBS } from '../../policy/fixture.ts'

type RouteParts = Pick<Route, 'path' | 'kind'> &
  Partial<Pick<Route, 'view' | 'redirect'>> & { readonly action?: string }

const LIST = { GET: 'list', POST: 'create' } as const
const ITEM = { GET: 'read', PUT: 'replace', PATCH: 'update', DELETE: 'delete' } as const

const MOVED = { to: '/docs/{id}', permanent: true }

/** `view` names a view of `docs` that the policy has, if it has one. */
export function routed(view: string | undefined): Resources {
  const docs = withRoutes(DOCS, [
    [{ path: '/docs', kind: 'collection' }, LIST],
    [{ path: '/docs/{id}', kind: 'item' }, ITEM],
    [{ path: '/docs/{id}/peek', kind: 'item', action: 'peek' }, { GET: 'read' }],
    [
      { path: '/mine', kind: 'caller' },
      { GET: 'read', PATCH: 'update' },
    ],
    [{ path: '/old/{id}', kind: 'item', redirect: MOVED }, ITEM],
    ...(view === undefined ? [] : viewRoutes(view)),
  ])
  const jobs = withRoutes(JOBS, [[{ path: '/jobs/{id}', kind: 'item' }, ITEM]])
  const health = withRoutes(HEALTH, [[{ path: '/livez', kind: 'collection' }, { GET: 'read' }]])
  const all = [docs, jobs, health]
  return { byName: new Map(all.map((one) => [one.name, one])), routes: all.flatMap(({ routes }) => routes) }
}

function viewRoutes(view: string): readonly RouteOf[] {
  return [
    [{ path: '/docs/{id}/view', kind: 'item', view }, ITEM],
    [{ path: '/docs/views', kind: 'collection', view }, LIST],
  ]
}

type RouteOf = readonly [RouteParts, Readonly<Record<string, Operation>>]

function withRoutes(resource: Resource, routes: readonly RouteOf[]): Resource {
  const made = routes.map(([{ action, ...parts }, operations]) => ({
    ...parts,
    resource: resource.name,
    ...makeEndpoints(new Map(Object.entries(operations)), (operation) =>
      operation === 'options' ? operation : (action ?? operation),
    ),
  }))
  return { ...resource, routes: made }
}

export interface Written {
  readonly files: PolicyFiles
  readonly resources?: Resources
  /** As --role names them. */
  readonly callers?: readonly string[]
  readonly only?: readonly string[]
  readonly blocked?: string
  readonly now?: number
  /** Another policy than the files say, for what must be found out. */
  readonly instead?: (policy: Policy) => Policy
}

export function matrixOf({ files, callers = [], only, blocked = '', now = 0, ...rest }: Written): Matrix {
  const resources = rest.resources ?? routed(undefined)
  const policy = parsePolicy(files, resources)
  const blockedFile = { name: 'blocked.txt', text: blocked }
  return buildMatrix(
    { policy: rest.instead?.(policy) ?? policy, blocked: parseBlocked(blockedFile), files, blockedFile },
    { resources, columns: chooseColumns(policy, callers), only: only && new Set(only), now },
  )
}
