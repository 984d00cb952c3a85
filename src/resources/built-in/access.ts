/** `system/access`: other services ask this policy here (AuthZEN Authorization API 1.0). Each group of routes is a line. */
import { isObject } from '../../base/is-object.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import type { Gateway, Resource, Route } from '../resource.ts'
import { checkerOf } from '../validate/find-faults.ts'
import {
  BATCH_SCHEMA,
  DECISION_SCHEMA,
  DECISIONS_SCHEMA,
  EVALUATION_SCHEMA,
  EVALUATIONS_SCHEMA,
  ITEMLESS_SCHEMA,
  METADATA_SCHEMA,
} from './access-schemas.ts'
import { FILTER_REQUEST_SCHEMA, FILTER_SCHEMA } from './filter-schemas.ts'
import { action, askingRoute, builtIn, documentRoute } from './make.ts'
import { SEARCHES } from './search-schemas.ts'

const NAME = 'system/access'

export const METADATA_PATH = '/.well-known/authzen-configuration'

/** Gives conditions for tables of other services. */
export const FILTER_PATH = '/access/v1/filter'

/** Whether answers for a path, or for a target that begins with it, have the X-Request-ID of their request. */
export function echoesRequestId(target: string): boolean {
  return target.startsWith('/access/v1/') || target.startsWith(METADATA_PATH)
}

// The gateways that can ask about their clients' requests, each as its makers describe it (docs/gateways.md).

const FORWARDED = {
  headers: { method: 'X-Forwarded-Method', uri: 'X-Forwarded-Uri' },
  passesOn: 'every status',
} as const

const GATEWAYS: readonly Gateway[] = [
  {
    name: 'nginx',
    // nginx has no names of its own for them: deploy/gateways/nginx.conf sets these.
    headers: { method: 'X-Original-Method', uri: 'X-Original-URI' },
    passesOn: '401 and 403',
  },
  { name: 'traefik', ...FORWARDED },
  { name: 'caddy', ...FORWARDED },
]

/**
 * Gateways may ask with any method, which says nothing about their client's. There is no OPTIONS of the route itself: a
 * gateway would take its answer for a permission.
 */
export function gatewayRoutes(resource: string, action: string): readonly Route[] {
  const endpoint = Object.freeze({ operation: 'read', action } as const)
  const endpoints = {
    endpoints: new Map([['GET', endpoint] as const, ['HEAD', endpoint] as const]),
    allow: 'GET, HEAD',
  }
  return GATEWAYS.map((gateway) =>
    Object.freeze({
      path: `/access/v1/forward/${gateway.name}`,
      resource,
      kind: 'collection',
      gateway: Object.freeze(gateway),
      ...endpoints,
    }),
  )
}

// The faults of questions to the policy, by their schemas.

export const faultsOfEvaluation = checkerOf(EVALUATION_SCHEMA)

export const faultsOfFilter = checkerOf(FILTER_REQUEST_SCHEMA)

const faultsOfBatch = checkerOf(BATCH_SCHEMA)

const faultsWithoutItems = checkerOf(ITEMLESS_SCHEMA)

/** The faults of the form that the body has. */
export function faultsOfEvaluations(body: unknown): readonly FieldFault[] {
  return hasItems(body) ? faultsOfBatch(body) : faultsWithoutItems(body)
}

export function hasItems(body: unknown): boolean {
  return isObject(body) && Array.isArray(body.evaluations) && body.evaluations.length > 0
}

export const ACCESS: Resource = builtIn(NAME, {
  schema: METADATA_SCHEMA,
  fields: [],
  routes: [
    documentRoute(NAME, METADATA_PATH),
    askingRoute(NAME, '/access/v1/evaluation', 'evaluate', {
      summary: 'Ask for a decision',
      takes: EVALUATION_SCHEMA,
      faults: faultsOfEvaluation,
      gives: DECISION_SCHEMA,
    }),
    askingRoute(NAME, '/access/v1/evaluations', 'evaluate', {
      summary: 'Ask for several decisions',
      takes: EVALUATIONS_SCHEMA,
      faults: faultsOfEvaluations,
      gives: DECISIONS_SCHEMA,
    }),
    ...gatewayRoutes(NAME, 'forward'),
    askingRoute(NAME, FILTER_PATH, 'filter', {
      summary: 'Ask for a filter of your own tables',
      takes: FILTER_REQUEST_SCHEMA,
      faults: faultsOfFilter,
      gives: FILTER_SCHEMA,
    }),
    ...SEARCHES.map(({ path, ...exchange }) => askingRoute(NAME, path, 'search', exchange)),
  ],
  // An action whose route a server doesn't have yet may be granted already.
  actions: ['read', 'evaluate', 'search', 'filter', 'forward', 'options'].map((name) => action(name, 'whole')),
})
