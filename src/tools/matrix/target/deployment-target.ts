/** The target at a deployment: objects are made with requests, by the set-up role, and noted for the clean-up. */
import { randomUUID } from 'node:crypto'
import type { Representation, Resource, Route } from '../../../resources/resource.ts'
import { columnText, type KnownColumn, knownIn } from '../read/expectation.ts'
import type { Deployment, Trace } from './clean-up.ts'
import { askPatiently, type HttpAnswer, idsIn } from './http.ts'
import { CannotSetUp, type TestCaller, type TestSignIn, type TestTarget } from './test-target.ts'
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
  const path = options.resources.byName.get(resource)?.canonicalItemPath
  const [token] = await setupTokens(options, undefined)
  const url = `${options.url}${path?.replace('{id}', () => encodeURIComponent(caller.id))}`
  const answer = await askPatiently({ method: 'GET', url, token }, options.patience)
  if (answer.status !== 200) {
    throw new CannotSetUp(`the set-up role can't read the record ${caller.id} of ${resource}: ${told(answer)}`)
  }
  return { caller, object: answer.json as Representation, made: false }
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
  const route = resource?.routes.find(isForCreation)
  if (!resource || !route) throw new CannotSetUp(`no route creates objects of ${name}, so the run can't create one`)
  const body = withoutServersFields(resource, object)
  const tokens = await setupTokens(options, owner)
  let last = `there is no token for the set-up role \`${options.setupRole}\``
  for (const token of tokens) {
    const answer = await askPatiently({ method: 'POST', url: options.url + route.path, token, body }, options.patience)
    const id = answer.status === 201 ? idsIn(answer)[0] : undefined
    if (id !== undefined) {
      traces.push({ resource: name, id, tokens: [token, ...tokens.filter((one) => one !== token)] })
      return { ...object, ...(answer.json as Representation | undefined), id }
    }
    last = told(answer)
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

function told({ status, json }: HttpAnswer): string {
  const detail = (json as { detail?: unknown } | undefined)?.detail
  return typeof detail === 'string' ? `${status}, ${detail}` : String(status)
}
