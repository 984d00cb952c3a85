/** Runs the handler that a decision and an input call for. Handlers are thin: what they may do is decided already. */
import type { Decision } from '../../decide/decision.ts'
import type { Route } from '../../resources/resource.ts'
import type { Input } from '../input/input.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { listObjects } from './list-objects.ts'
import type { Outcome } from './outcome.ts'
import { patchObject } from './patch-object.ts'
import { readObject } from './read-object.ts'
import { redirect } from './redirect.ts'
import { reportHealth } from './report-health.ts'
import type { Asking, Services } from './services.ts'
import { showDocument } from './show-document.ts'
import { showOptions } from './show-options.ts'
import { showKeys, signIn, signOut } from './tokens.ts'
import { replaceObject, updateObject } from './write-object.ts'

/** Throws what the store throws, Refused, and Problem. */
export function handle(
  services: Services,
  asking: Asking,
  decision: Decision,
  input: Input,
): Outcome | Promise<Outcome> {
  const { operation } = asking.endpoint
  if (decision.kind === 'list' && input.kind === 'list') return listObjects(services, asking, decision, input.query)
  if (decision.kind === 'read') return readObject(services, asking, decision)
  if (decision.kind === 'delete') return deleteObject(services, asking, decision)
  if (decision.kind === 'create' && input.kind === 'body') return createObject(services, asking, decision, input.body)
  if (decision.kind === 'update' && input.kind === 'body') {
    const write = operation === 'replace' ? replaceObject : updateObject
    return write(services, asking, decision, input.body)
  }
  if (decision.kind === 'update' && input.kind === 'json-patch') {
    return patchObject(services, asking, decision, input.operations)
  }
  if (decision.kind === 'route' && input.kind === 'body') return signIn(services, asking, input.body)
  if (decision.kind === 'route') return handleRoute(services, asking, decision.fields)
  throw new Error(`no handler for ${operation} with ${decision.kind} and ${input.kind}`)
}

async function handleRoute(services: Services, asking: Asking, fields: ReadonlySet<string>): Promise<Outcome> {
  const { route, endpoint } = asking
  if (endpoint.operation === 'options') return showOptions(route)
  if (route.redirect) return redirect(route.redirect, asking)
  if (route.path === '/openapi.json') return showDocument(services, asking)
  if (route.path === '/api/tokens/current') return signOut(services, asking)
  return builtIn(route)(services, fields)
}

function builtIn(route: Route): (services: Services, fields: ReadonlySet<string>) => Promise<Outcome> {
  if (route.path === '/livez') return reportHealth.live
  if (route.path === '/readyz') return reportHealth.ready
  if (route.path === '/.well-known/jwks.json') return showKeys
  throw new Error(`no handler for ${route.path}`)
}
