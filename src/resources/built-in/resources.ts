/**
 * The resources that the program serves itself (health, the OpenAPI document, tokens, keys, access, access requests,
 * batches, the policy), under the same policy as data.
 */
import type { Resource, Route } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { ACCESS } from './access.ts'
import { ACCESS_REQUESTS } from './access-requests.ts'
import { BATCH_PATH, BATCH_RESOURCE } from './batch.ts'
import { action, builtIn, closedObjectOf, documentRoute, listOf, objectOf, route, statusField, TEXT } from './make.ts'
import { POLICY_QUESTIONS } from './policy-questions.ts'
import { TOKEN_REQUEST, validateTokenRequest } from './token-request.ts'

const HEALTH = 'system/health'
const OPENAPI = 'system/openapi'
const TOKENS = 'system/tokens'
const KEYS = 'system/keys'

/** RFC 6749 section 5.1. */
const TOKENS_SCHEMA: JsonObject = {
  title: 'Tokens',
  description: 'An access token for other requests, and a refresh token to get new tokens.',
  ...closedObjectOf({
    access_token: TEXT,
    token_type: { const: 'Bearer' },
    expires_in: { description: 'Seconds.', type: 'integer', minimum: 1 },
    refresh_token: { description: 'Can be used once.', type: 'string' },
  }),
}

const KEYS_SCHEMA: JsonObject = {
  title: 'KeySet',
  description: "The public keys that verify this server's tokens (RFC 7517); empty if it issues no tokens.",
  ...closedObjectOf({ keys: listOf({ type: 'object', additionalProperties: true }) }),
}

const CHECKS_SCHEMA: JsonObject = {
  description: 'The state of each part of the server.',
  type: 'object',
  additionalProperties: closedObjectOf(
    { status: { type: 'string', enum: ['ok', 'degraded', 'unavailable'] } },
    { detail: TEXT },
  ),
}

const HEALTH_SCHEMA: JsonObject = {
  title: 'Health',
  description: 'The state of the server.',
  ...objectOf({}, { status: { type: 'string', enum: ['ok', 'degraded'] }, checks: CHECKS_SCHEMA }),
}

const BUILT_IN_RESOURCES: readonly Resource[] = Object.freeze([
  builtIn(HEALTH, {
    schema: HEALTH_SCHEMA,
    fields: [statusField('status', 'string'), statusField('checks', 'other')],
    routes: [documentRoute(HEALTH, '/livez'), documentRoute(HEALTH, '/readyz'), anyRoute()],
    actions: [action('read', 'with fields'), action('options', 'whole')],
  }),
  builtIn(OPENAPI, {
    schema: {
      title: 'Description',
      description: 'This document: the operations that the caller may use.',
      type: 'object',
      additionalProperties: true,
    },
    fields: [],
    routes: [documentRoute(OPENAPI, '/openapi.json')],
    actions: [action('read', 'whole'), action('options', 'whole')],
  }),
  builtIn(TOKENS, {
    schema: TOKENS_SCHEMA,
    fields: [],
    routes: [
      route(TOKENS, '/api/tokens', 'collection', [['POST', 'create']]),
      // The session always belongs to the caller, like the record at /profile.
      route(TOKENS, '/api/tokens/current', 'caller', [['DELETE', 'delete']]),
    ],
    actions: [action('create', 'whole'), action('delete', 'whole'), action('options', 'whole')],
    takes: { schema: TOKEN_REQUEST, validate: validateTokenRequest },
  }),
  builtIn(KEYS, {
    schema: KEYS_SCHEMA,
    fields: [],
    routes: [documentRoute(KEYS, '/.well-known/jwks.json')],
    actions: [action('read', 'whole'), action('options', 'whole')],
  }),
  ACCESS,
  ACCESS_REQUESTS,
  BATCH_RESOURCE,
  POLICY_QUESTIONS,
])

/** Paths that no schema file may have. */
export const BUILT_IN_PATHS: readonly string[] = BUILT_IN_RESOURCES.flatMap(({ routes }) =>
  routes.map(({ path }) => path).filter((path) => path !== '*' && path !== BATCH_PATH),
)

/** With these resources of schema files. Some had the path of batches before the server had it: it stays theirs. */
export function builtInBeside(own: readonly Pick<Resource, 'routes' | 'external'>[]): readonly Resource[] {
  const isTaken = own.some(({ external, routes }) => !external && routes.some(({ path }) => path === BATCH_PATH))
  if (!isTaken) return BUILT_IN_RESOURCES
  return BUILT_IN_RESOURCES.map((one) => (one === BATCH_RESOURCE ? Object.freeze({ ...one, routes: [] }) : one))
}

/** `OPTIONS *` asks about the server as a whole (RFC 9110 section 9.3.7). */
function anyRoute(): Route {
  return route(HEALTH, '*', 'collection', [])
}
