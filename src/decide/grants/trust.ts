/** The people that services may ask about, and the facts that they may assert (policies/callers.yaml). */
import { isInNetworks } from '../request-conditions/network.ts'

/**
 * Where the roles and attributes of a subject come from. `asserted`: from the evaluation itself, with these roles
 * at most. Everywhere, a users record wins over asserted attributes.
 */
export type SubjectSource =
  | { readonly kind: 'directory' }
  | { readonly kind: 'token' }
  | { readonly kind: 'asserted'; readonly roles: ReadonlySet<string> }

/** The member of an evaluation that says whether a condition holds: true or false; absent: unknown. */
export interface AssertedBy {
  readonly in: 'context' | 'action'
  readonly member: string
}

/** What one service that asks may assert. */
export interface Trust {
  /** By the type of subject; other types can't be named. */
  readonly subjects: ReadonlyMap<string, SubjectSource>
  /** The resources whose asserted attributes count, where no object is stored. */
  readonly assertedResources: ReadonlySet<string>
  /** Whether the service heeds `context.fields` of an answer. */
  readonly understandsFields: boolean
  /** By resource, or `*` for every resource: the policy's action for another name. */
  readonly aliases: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** By the name of a condition of conditions.yaml. */
  readonly conditions: ReadonlyMap<string, AssertedBy>
  /** The profiles of forward auth that it may use; undefined: each. */
  readonly profiles: ReadonlySet<string> | undefined
}

/** One entry of callers.yaml. */
export interface CallerEntry extends Trust {
  /** A role, or `user:<id>`. */
  readonly name: string
  /** Networks (CIDR): a socket address in one of them proves the gateway in place of an API key. */
  readonly addresses: readonly string[]
}

/** By name, in the order of callers.yaml. */
export type CallerEntries = ReadonlyMap<string, CallerEntry>

interface AskingPep {
  readonly caller: { readonly id: string } | undefined
  /** Inherited ones included. */
  readonly roles: ReadonlySet<string>
}

/** For services without an entry: people as the directory has them, objects as they are stored. */
export const DEFAULT_TRUST: Trust = {
  subjects: new Map([['user', { kind: 'directory' }]]),
  assertedResources: new Set(),
  understandsFields: false,
  aliases: new Map(),
  conditions: new Map(),
  profiles: undefined,
}

/**
 * What counts for a caller: the entry `user:<id>` alone if there is one; otherwise, of several roles with entries, only
 * what each entry gives.
 */
export function trustOf(entries: CallerEntries, { caller, roles }: AskingPep): Trust {
  const own = caller && entries.get(`user:${caller.id}`)
  if (own) return own
  const fitting = [...roles].flatMap((role) => entries.get(role) ?? [])
  const [first, ...others] = fitting
  return first === undefined ? DEFAULT_TRUST : others.reduce<Trust>(narrower, first)
}

/** At most one: the parser refuses entries that share addresses. */
export function gatewayAt(entries: CallerEntries, address: string): CallerEntry | undefined {
  return [...entries.values()].find(({ addresses }) => addresses.length > 0 && isInNetworks(address, addresses))
}

/** The policy's name of an action, where the service calls it by an alias. */
export function actionNamed(trust: Trust, resource: string, name: string): string {
  return trust.aliases.get(resource)?.get(name) ?? trust.aliases.get('*')?.get(name) ?? name
}

/** Only what both give. */
function narrower(one: Trust, other: Trust): Trust {
  return {
    subjects: common(one.subjects, other.subjects, narrowerSource),
    assertedResources: one.assertedResources.intersection(other.assertedResources),
    understandsFields: one.understandsFields && other.understandsFields,
    aliases: commonAliases(one.aliases, other.aliases),
    conditions: common(one.conditions, other.conditions, (a, b) => (isSameMember(a, b) ? a : undefined)),
    profiles:
      one.profiles && other.profiles ? one.profiles.intersection(other.profiles) : (one.profiles ?? other.profiles),
  }
}

/** From the least trust to the most: a token proves the person, the directory proves what is known of a person. */
const KINDS: readonly SubjectSource['kind'][] = ['token', 'directory', 'asserted']

function narrowerSource(one: SubjectSource, other: SubjectSource): SubjectSource {
  if (one.kind === 'asserted' && other.kind === 'asserted') {
    return { kind: 'asserted', roles: one.roles.intersection(other.roles) }
  }
  return KINDS.indexOf(one.kind) <= KINDS.indexOf(other.kind) ? one : other
}

type Aliases = Trust['aliases']

/** A name that stands for all resources must mean the same for each of them that an entry names. */
function commonAliases(one: Aliases, other: Aliases): Aliases {
  const resources = [...new Set([...one.keys(), ...other.keys()])].filter((name) => name !== '*')
  const found = resources.map((name) => [name, common(namesFor(one, name), namesFor(other, name), same)] as const)
  const isAlike = (alias: string) =>
    resources.every((name) => namesFor(one, name).get(alias) === namesFor(other, name).get(alias))
  const forAll = [...common(namesFor(one, '*'), namesFor(other, '*'), same)].filter(([alias]) => isAlike(alias))
  return new Map([['*', new Map(forAll)] as const, ...found])
}

/** The names that count for this resource: its own before those of all. */
function namesFor(aliases: Aliases, resource: string): ReadonlyMap<string, string> {
  return new Map([...(aliases.get('*') ?? []), ...(aliases.get(resource) ?? [])])
}

function same(one: string, other: string): string | undefined {
  return one === other ? one : undefined
}

function isSameMember(one: AssertedBy, other: AssertedBy): boolean {
  return one.in === other.in && one.member === other.member
}

function common<V>(
  one: ReadonlyMap<string, V>,
  other: ReadonlyMap<string, V>,
  join: (a: V, b: V) => V | undefined,
): ReadonlyMap<string, V> {
  const pairs = [...one].flatMap(([key, value]) => {
    const there = other.get(key)
    const joined = there === undefined ? undefined : join(value, there)
    return joined === undefined ? [] : [[key, joined] as const]
  })
  return new Map(pairs)
}
