/** The target at a deployment: objects are made with requests, by the set-up role, and removed at the end. */
import { randomUUID } from 'node:crypto'
import type { Representation, Resource, Resources, Route } from '../../../resources/resource.ts'
import { withParameter } from '../../../resources/routing/path-parameter.ts'
import { changesOf } from '../fixture/related-fixture.ts'
import { columnText, type KnownColumn, knownIn } from '../read/expectation.ts'
import { follow } from './follow.ts'
import { askPatiently, type HttpAnswer, idsIn, NoAnswer, type Patience } from './http.ts'
import { CannotSetUp, type NewObject, type TestCaller, type TestSignIn, type TestTarget } from './test-target.ts'
import { signedInLike, type TokenSource } from './token-source.ts'

export interface DeploymentOptions extends Deployment {
  readonly tokens: TokenSource
  /** Whose tokens make objects. */
  readonly setupRole: string
}

/** `traces` grows with every object that the run makes. */
export function createDeploymentTarget(options: DeploymentOptions): {
  /** Its callers have signed in like this. */
  targetFor: (signIn: TestSignIn) => TestTarget
  traces: readonly Trace[]
} {
  const traces: Trace[] = []
  const stranger = randomUUID()
  const put = (resource: string, object: Representation, owner?: string) =>
    create(options, traces, { resource, object, owner })
  const targetWith = (tokens: TokenSource): TestTarget => ({
    url: options.url,
    now: Date.now,
    strangers: (caller) => strangersTo(tokens, caller, stranger),
    caller: (column) => callerOf(tokens, column),
    callerWithRecord: (column, resource, make) => {
      const made = column.kind === 'roles' && tokens.kind === 'minted' ? tokens.mint : undefined
      return made
        ? newCaller(made, column, put(resource, make(randomUUID())))
        : knownCaller({ ...options, tokens }, column, resource)
    },
    put: ({ resource, object }, owner) => put(resource, object, owner),
    change: (object, after) => change(options, traces, object, after),
    remove: (object) => removeNow(options, traces, object),
    follow,
    ask: (request, wanted) => askPatiently(request, options.patience, wanted),
    async note(resource, answer, token) {
      const id = answer.status === 201 ? idsIn(answer)[0] : undefined
      if (id === undefined) return
      const setup = await setupTokens(options, undefined)
      traces.push({ resource, id, tokens: [...setup, ...(token === undefined ? [] : [token])] })
    },
  })
  return { targetFor: (signIn) => targetWith(signedInLike(options.tokens, signIn)), traces }
}

function strangersTo(tokens: TokenSource, caller: TestCaller | undefined, stranger: string): readonly string[] {
  if (tokens.kind === 'minted') return [stranger]
  const others = [...tokens.callers.values()].map(({ subject }) => subject).filter((subject) => subject !== caller?.id)
  return others.length > 0 ? [...new Set(others)] : [stranger]
}

async function callerOf(tokens: TokenSource, column: KnownColumn): Promise<TestCaller> {
  if (tokens.kind === 'minted') {
    const { id, roles } = knownIn(column, randomUUID())
    return { id, token: await tokens.mint(id, roles), fresh: column.kind !== 'user' }
  }
  const given = tokens.callers.get(columnText(column))
  if (!given)
    throw new CannotSetUp(`there is no token for the column \`${columnText(column)}\`: add one to the file of --tokens`)
  return { id: given.subject, token: given.token, fresh: false }
}

/** The deployment chooses the record's id, and the caller's token uses that id. */
async function newCaller(
  mint: (subject: string, roles: readonly string[]) => Promise<string>,
  column: KnownColumn,
  record: Promise<Representation>,
): Promise<{ caller: TestCaller; object: Representation; made: boolean }> {
  const object = await record
  const id = String(object.id)
  const token = await mint(id, column.kind === 'roles' ? column.roles : [])
  return { caller: { id, token, fresh: true }, object, made: true }
}

/** A known caller has the stored record, or none. */
async function knownCaller(options: DeploymentOptions, column: KnownColumn, resource: string) {
  const caller = await callerOf(options.tokens, column)
  const [token] = await setupTokens(options, undefined)
  const url = addressOf(options, resource, caller.id)
  const answer = await askPatiently({ method: 'GET', url, token }, options.patience)
  if (answer.status !== 200) {
    throw new CannotSetUp(`the set-up role can't read the record ${caller.id} of ${resource}: ${answerText(answer)}`)
  }
  return { caller, object: answer.json as Representation, made: false }
}

/** With the tokens that may remove what the run made. */
async function change(
  options: DeploymentOptions,
  traces: readonly Trace[],
  { resource, object }: NewObject,
  after: Representation,
): Promise<void> {
  const url = addressOf(options, resource, String(object.id))
  const body = changesOf(object, after)
  const headers = { 'if-match': '*', 'content-type': 'application/merge-patch+json' }
  let last = 'it made no such object'
  for (const token of traceOf(traces, resource, object)?.tokens ?? []) {
    const answer = await askPatiently({ method: 'PATCH', url, token, body, headers }, options.patience)
    if (answer.status < 300) return
    last = answerText(answer)
  }
  throw new CannotSetUp(`the set-up role \`${options.setupRole}\` could not change an object of ${resource}: ${last}`)
}

async function removeNow(
  options: DeploymentOptions,
  traces: readonly Trace[],
  { resource, object }: NewObject,
): Promise<void> {
  const trace = traceOf(traces, resource, object)
  const why = trace ? await remove(options, trace) : 'it made no such object'
  if (why !== undefined)
    throw new CannotSetUp(`the set-up role \`${options.setupRole}\` could not delete an object of ${resource}: ${why}`)
}

function addressOf({ url, resources }: Deployment, resource: string, id: string): string {
  return url + withParameter(resources.byName.get(resource)?.canonicalItemPath ?? '', encodeURIComponent(id))
}

function traceOf(traces: readonly Trace[], resource: string, { id }: Representation): Trace | undefined {
  return traces.find((trace) => trace.resource === resource && trace.id === id)
}

interface Creation {
  readonly resource: string
  readonly object: Representation
  readonly owner: string | undefined
}

/** Tries each token that may create it; the error reports the last answer. */
async function create(options: DeploymentOptions, traces: Trace[], creation: Creation): Promise<Representation> {
  const { resource: name, object, owner } = creation
  const resource = options.resources.byName.get(name)
  const routes = resource?.routes.filter(isForCreation) ?? []
  const route = routes.find(({ parent }) => !parent) ?? routes[0]
  if (!resource || !route) throw new CannotSetUp(`no route creates objects of ${name}, so the run can't create one`)
  const body = withoutServersFields(resource, object)
  const parent = route.parent && object[route.parent.field]
  const url = options.url + withParameter(route.path, encodeURIComponent(String(parent)))
  const tokens = await setupTokens(options, owner)
  let last = `there is no token for the set-up role \`${options.setupRole}\``
  for (const token of tokens) {
    const answer = await askPatiently({ method: 'POST', url, token, body }, options.patience)
    const id = answer.status === 201 ? idsIn(answer)[0] : undefined
    if (id !== undefined) {
      traces.push({ resource: name, id, tokens: [token, ...tokens.filter((one) => one !== token)] })
      return { ...object, ...(answer.json as Representation | undefined), id }
    }
    last = answerText(answer)
  }
  throw new CannotSetUp(`the set-up role \`${options.setupRole}\` could not create an object of ${name}: ${last}`)
}

function isForCreation({ endpoints, redirect, lifecycle }: Route): boolean {
  return endpoints.has('POST') && !redirect && lifecycle?.sunsetAt === undefined
}

function withoutServersFields({ fields }: Resource, object: Representation): Representation {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.get(name)?.readOnly))
}

/**
 * If tokens are minted: a token of the set-up role with the owner's id. Otherwise the set-up role's own token, then the
 * owner's.
 */
async function setupTokens(
  { tokens, setupRole }: DeploymentOptions,
  owner: string | undefined,
): Promise<readonly string[]> {
  if (tokens.kind === 'minted') return [await tokens.mint(owner ?? randomUUID(), setupRole.split('+'))]
  const mine = tokens.callers.get(setupRole)
  const theirs = [...tokens.callers.values()].filter(({ subject }) => subject === owner)
  return [...(mine ? [mine] : []), ...theirs].map(({ token }) => token)
}

function answerText({ status, json }: HttpAnswer): string {
  const detail = (json as { detail?: unknown } | undefined)?.detail
  return typeof detail === 'string' ? `${status}, ${detail}` : String(status)
}

export interface Trace {
  readonly resource: string
  readonly id: string
  /** Whose tokens may remove it, the likeliest first. */
  readonly tokens: readonly string[]
}

export interface Deployment {
  readonly url: string
  readonly resources: Resources
  readonly patience: Patience
}

/** Ids that a remark names. */
const NAMED = 3
const PARALLEL = 8

/** Removes all, the newest first. Returns a sentence for each resource and reason for which something remains. */
export async function cleanUp(deployment: Deployment, traces: readonly Trace[]): Promise<readonly string[]> {
  const left: { readonly trace: Trace; readonly why: string }[] = []
  const queue = traces.toReversed().values()
  const work = async () => {
    for (const trace of queue) {
      const why = await remove(deployment, trace)
      if (why !== undefined) left.push({ trace, why })
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  const groups = Map.groupBy(left, ({ trace, why }) => `${trace.resource}\n${why}`)
  return [...groups.values()].map(remark)
}

function remark(left: readonly { readonly trace: Trace; readonly why: string }[]): string {
  const { resource = '', id = '' } = left[0]?.trace ?? {}
  const named = left.slice(0, NAMED).map(({ trace }) => trace.id)
  const ids = left.length > NAMED ? `${named.join(', ')}, …` : named.join(', ')
  const what = left.length === 1 ? `The object ${id} of ${resource}` : `${left.length} objects of ${resource} (${ids})`
  return `${what} could not be removed: ${left[0]?.why}.`
}

/** Undefined if the object is gone. */
async function remove(
  { url, resources, patience }: Deployment,
  { resource, id, tokens }: Trace,
): Promise<string | undefined> {
  const route = resources.byName
    .get(resource)
    ?.routes.find(({ kind, endpoints, redirect }) => kind === 'item' && !redirect && endpoints.has('DELETE'))
  if (!route) return 'no route of the resource accepts DELETE'
  const address = url + withParameter(route.path, encodeURIComponent(id))
  let last = 'no token may delete it'
  for (const token of tokens) {
    const request = { method: 'DELETE', url: address, token, headers: { 'if-match': '*' } }
    const answer = await askPatiently(request, patience).catch((error) => {
      if (error instanceof NoAnswer) return error
      throw error
    })
    if (answer instanceof NoAnswer) return answer.message
    if (answer.status === 404 || (answer.status >= 200 && answer.status < 300)) return undefined
    last = `DELETE got ${answer.status}`
  }
  return last
}
