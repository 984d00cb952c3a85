/** The gateways that can ask about their clients' requests, each as its makers describe it (docs/gateways.md). */
import type { Gateway, Route } from '../resource.ts'

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
