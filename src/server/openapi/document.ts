/**
 * The OpenAPI 3.1 document of a server, made from its schemas and its policy: the same files give the same document. It
 * promises exactly what the server does; the tests compare all their answers with it (test/answer-checker.ts).
 */
import type { Caller } from '../../decide/caller.ts'
import { type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import type { Subject } from '../../decide/grants/subjects.ts'
import type { Limit } from '../../decide/policy.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { PROGRAM } from '../../present/program.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { type Access, accessOf } from './access.ts'
import { Components, type Part, pascal } from './components.ts'
import { operationIds, operationPart } from './operation.ts'
import type { PolicyOrigin } from './parameters.ts'
import { ResourceSchemas } from './resource-schemas.ts'

const DESCRIPTION = `The policy of this server decides who may do what. Errors are problem documents (RFC 9457).
A path that is not listed here answers 404. A method that its path doesn't have answers 405 with \`Allow\`.
Only the paths of gateways (\`/access/v1/forward/\`) take every method.`

export async function makeDocument(access: Access, resources: Resources, origin: PolicyOrigin): Promise<Part> {
  const nobody = await accessOf(access.snapshot, access.snapshot.subjectOf(undefined), resources)
  const components = new Components()
  const names = baseNames(servedResources(resources))
  const schemas = new Map(
    servedResources(resources).map((one) => [
      one.name,
      new ResourceSchemas(one, names.get(one.name) ?? one.name, components),
    ]),
  )
  const ids = operationIds(resources)
  // `OPTIONS *` is about the server, not about a path.
  const offered = routeMethodsOf(resources).filter(
    (routeMethod) => routeMethod.route.path !== '*' && access.offers(routeMethod),
  )
  const operations = offered.map((routeMethod) => {
    const own = schemas.get(routeMethod.resource.name)
    if (!own) throw new Error(`no schema declares ${routeMethod.resource.name}`)
    return {
      routeMethod,
      part: {
        operationId: ids(routeMethod),
        ...operationPart(
          routeMethod,
          { origin, access, resources, schemas: own, components },
          nobody.offers(routeMethod),
        ),
      },
    }
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Sallyport', version: PROGRAM.version, description: DESCRIPTION },
    servers: [{ url: '/' }],
    tags: tagsOf(offered),
    ...limitsPart(access, offered),
    paths: pathsOf(operations),
    components: { securitySchemes: SECURITY, ...components.part },
  }
}

const SECURITY: Part = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An access token of this server or of an issuer that it trusts, or an API key.',
  },
}

interface Described {
  readonly routeMethod: RouteMethod
  readonly part: Part
}

function pathsOf(operations: readonly Described[]): Part {
  const byPath = Map.groupBy(operations, ({ routeMethod }) => routeMethod.route.path)
  return Object.fromEntries(
    [...byPath].map(([path, those]) => [
      path,
      Object.fromEntries(those.map(({ routeMethod, part }) => [routeMethod.method.toLowerCase(), part])),
    ]),
  )
}

function tagsOf(routeMethods: readonly RouteMethod[]): readonly Part[] {
  const used = new Set(routeMethods.map(({ resource }) => resource))
  return [...used].map(({ name, schema }) => ({
    name,
    description: typeof schema.description === 'string' ? schema.description : `The resource \`${name}\`.`,
  }))
}

function limitsPart(access: Access, routeMethods: readonly RouteMethod[]): Part {
  const limits = new Set(routeMethods.flatMap((routeMethod) => access.limitsOf(routeMethod)))
  const inOrder = access.snapshot.limits.limits.filter((limit) => limits.has(limit))
  return inOrder.length > 0 ? { 'x-rate-limits': inOrder.map(limitPart) } : {}
}

/** OpenAPI has no keyword for rate limits. */
function limitPart({ name, per, allow, windowMs, match }: Limit): Part {
  const matched = Object.keys(match).length > 0 ? { match: { ...match } } : {}
  return { name, per, allow, windowSeconds: windowMs / 1000, ...matched }
}

function servedResources({ byName }: Resources): readonly Resource[] {
  return [...byName.values()].filter(({ external }) => !external)
}

/** The title of the schema if no other resource has it, otherwise the name of the resource. */
function baseNames(all: readonly Resource[]): ReadonlyMap<string, string> {
  const titles = all.map(titleOf)
  return new Map(
    all.map((resource, i) => {
      const title = titles[i] ?? ''
      const own = title !== '' && titles.indexOf(title) === titles.lastIndexOf(title)
      return [resource.name, own ? title : pascal(resource.name)]
    }),
  )
}

function titleOf({ schema }: Resource): string {
  return typeof schema.title === 'string' ? pascal(schema.title) : ''
}

/** The document of the caller's operations, as JSON text. */
type Describe = (snapshot: Snapshot, caller: Caller | undefined) => Promise<string>

/** The number of sets of roles whose documents are kept. */
const REMEMBERED = 100

export function createDescribe(resources: Resources, origin: PolicyOrigin): Describe {
  const documentOf = async (snapshot: Snapshot, subject: Subject) =>
    JSON.stringify(await makeDocument(await accessOf(snapshot, subject, resources), resources, origin))
  const bySnapshot = new WeakMap<Snapshot, Map<string, Promise<string>>>()
  return (snapshot, caller) => {
    const known = bySnapshot.get(snapshot) ?? new Map<string, Promise<string>>()
    bySnapshot.set(snapshot, known)
    const subject = snapshot.subjectOf(caller)
    const key = keyOf(subject)
    const made = known.get(key) ?? documentOf(snapshot, subject)
    known.set(key, made)
    made.catch(() => known.delete(key))
    const oldest = known.keys().next().value
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest)
    return made
  }
}

/** Callers with the same key have the same document. */
function keyOf({ caller, names, roles }: Subject): string {
  return JSON.stringify([caller !== undefined, names, [...roles].sort()])
}
