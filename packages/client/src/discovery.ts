/** Where a policy decision point has its endpoints: the paths of the standard, or its metadata. */
import { AuthzenError } from './error.ts'
import { readUrl, type Settings } from './options.ts'
import type { Caller } from './transport/caller.ts'

/** Those that the server doesn't offer are undefined. */
export type Endpoints = Readonly<Record<keyof typeof PATHS, URL | undefined>>

const PATHS = {
  evaluation: '/access/v1/evaluation',
  evaluations: '/access/v1/evaluations',
  subject: '/access/v1/search/subject',
  resource: '/access/v1/search/resource',
  action: '/access/v1/search/action',
  filter: '/access/v1/filter',
} as const

const MEMBERS: Readonly<Record<Exclude<keyof typeof PATHS, 'filter'>, string>> = {
  evaluation: 'access_evaluation_endpoint',
  evaluations: 'access_evaluations_endpoint',
  subject: 'search_subject_endpoint',
  resource: 'search_resource_endpoint',
  action: 'search_action_endpoint',
}

const WELL_KNOWN = '/.well-known/authzen-configuration'

export function defaultEndpoints(base: URL): Endpoints {
  return mapped((name) => below(base, PATHS[name]))
}

/** Asks the server for its metadata, which must be those of the server that was meant. Throws AuthzenError. */
export async function discoverEndpoints(caller: Caller, settings: Settings): Promise<Endpoints> {
  const { base } = settings
  const { body } = await caller.get(metadataUrl(base))
  const named = body.policy_decision_point
  if (typeof named !== 'string' || !isSame(named, base)) {
    throw new AuthzenError('invalid-answer', `the metadata are of \`${named}\`: set \`url\` to the name of the server`)
  }
  return mapped((name) => {
    // The standard has no filter; where there is one, it stands beside the rest.
    if (name === 'filter') return below(base, PATHS.filter)
    const text = body[MEMBERS[name]]
    return text === undefined || text === null ? undefined : endpointOf(MEMBERS[name], text, settings)
  })
}

/** Between the host and the path, as the standard says. */
export function metadataUrl(base: URL): URL {
  return new URL(WELL_KNOWN + base.pathname.replace(/\/$/, ''), base)
}

function endpointOf(member: string, text: unknown, { base, allowPlainHttp }: Settings): URL {
  try {
    const url = readUrl(member, String(text), allowPlainHttp)
    // The client's token goes there.
    if (url.origin !== base.origin) throw new TypeError(`\`${member}\` is on another server than \`url\``)
    return url
  } catch (cause) {
    throw new AuthzenError('invalid-answer', `the metadata name no usable \`${member}\``, { cause })
  }
}

function isSame(named: string, base: URL): boolean {
  return URL.canParse(named) && withoutSlash(new URL(named)) === withoutSlash(base)
}

function withoutSlash({ href }: URL): string {
  return href.replace(/\/$/, '')
}

function below(base: URL, path: string): URL {
  return new URL(withoutSlash(base) + path)
}

function mapped(urlOf: (name: keyof typeof PATHS) => URL | undefined): Endpoints {
  const names = Object.keys(PATHS) as (keyof typeof PATHS)[]
  return Object.fromEntries(names.map((name) => [name, urlOf(name)])) as Endpoints
}
