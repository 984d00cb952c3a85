/** callers.yaml (optional) -> the people that services may ask about, and the facts that they may assert. */

import { callers } from '#compiled/policy-files'
import type { Reporter, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { parseYaml, shapeBy, type YamlFile } from '../../base/yaml-file.ts'
import {
  type AssertedBy,
  type CallerEntries,
  type CallerEntry,
  DEFAULT_TRUST,
  type SubjectSource,
} from '../../decide/grants/trust.ts'
import type { Role } from '../../decide/policy.ts'
import type { RequestCondition } from '../../decide/request-conditions/all-conditions.ts'
import { doNetworksMeet, parseNetwork } from '../../decide/request-conditions/network.ts'
import type { Resources } from '../../resources/resource.ts'
import { oneOfActions } from './meant-action.ts'

/** `word` is the former name of `asserted` (former-words.ts). */
type Voucher = 'directory' | 'token' | { readonly asserted: readonly string[] } | { readonly word: readonly string[] }
type ByName<T> = Readonly<Record<string, T>>

interface CallersEntry {
  readonly subjects?: ByName<Voucher>
  readonly resources?: ByName<'stored' | 'asserted' | 'word'>
  readonly fields?: 'understood'
  readonly actions?: ByName<ByName<string>>
  readonly conditions?: ByName<string>
  readonly addresses?: readonly string[]
  readonly profiles?: readonly string[]
}

type CallersFile = ByName<CallersEntry>

const shape = shapeBy<CallersFile>(callers)

/** The names that entries may use. */
interface Usable {
  readonly resources: Resources
  readonly roles: ReadonlyMap<string, Role>
  readonly conditions: ReadonlyMap<string, RequestCondition>
}

/** `path` is within the entry. */
export type OnFault = (path: readonly (string | number)[], code: string, message: string, hint?: string) => void

/** In the order of the file. */
export function parseCallers(source: SourceFile | undefined, known: Usable, report: Reporter): CallerEntries {
  const file = source && parseYaml(source, shape, report)
  if (!file) return new Map()
  const entries = Object.entries(file.value).map(([name, entry]) => {
    const fault: OnFault = (path, ...rest) => report(file.fault([name, ...path], ...rest))
    return parseEntry(name, entry, known, fault)
  })
  reportShared(entries, file, report)
  return new Map(entries.map((entry) => [entry.name, entry]))
}

function parseEntry(name: string, entry: CallersEntry, known: Usable, fault: OnFault): CallerEntry {
  const { subjects, resources = {}, actions = {}, conditions = {}, addresses = [], profiles } = entry
  reportName(name, known, fault)
  if (addresses.length > 0 && !known.roles.has(name)) {
    const message = 'only an entry of a role can have `addresses`'
    fault(['addresses'], 'caller-addresses', message, 'give the gateway a role of its own, and name the role')
  }
  for (const resource of Object.keys(resources))
    dataResource(resource, known, (...rest) => fault(['resources', resource], ...rest))
  return {
    name,
    subjects: subjects ? parseSubjects(subjects, known, fault) : DEFAULT_TRUST.subjects,
    assertedResources: new Set(Object.keys(resources).filter((name) => ASSERTED.has(resources[name]))),
    understandsFields: entry.fields === 'understood',
    aliases: parseAliases(actions, known, fault),
    conditions: parseAsserted(conditions, known, fault),
    addresses: addresses.flatMap((text, i) => parseAddresses(text, (...rest) => fault(['addresses', i], ...rest))),
    profiles: profiles && new Set(profiles),
  }
}

const ASSERTED: ReadonlySet<unknown> = new Set(['asserted', 'word'])

/** The network of all addresses would let everybody ask what any token may do. */
function parseAddresses(
  text: string,
  fault: (code: string, message: string, hint?: string) => void,
): readonly string[] {
  const network = parseNetwork(text, fault)
  if (network === undefined) return []
  if (!network.endsWith('/0')) return [network]
  fault('addresses-of-all', `\`${text}\` has every address, so everybody would be this gateway`, ONE_GATEWAY)
  return []
}

const ONE_GATEWAY = 'name the networks from which the gateway alone can connect'

function reportName(name: string, { roles }: Usable, fault: OnFault): void {
  if (roles.has(name)) return
  const id = /^user:(?<id>.*)$/su.exec(name)?.groups?.id
  if (id !== undefined && id === id.trim() && id !== '' && [...id].length <= 128) return
  if (id !== undefined) {
    const message = 'the user id is empty, has more than 128 characters, or has a space at an end'
    fault([], 'user-id', message, 'write user:<id>')
    return
  }
  const hint = `write a role of roles.yaml, or user:<id>; ${oneOf(name, roles.keys())}`
  fault([], 'unknown-role', `the role \`${name}\` is not declared`, hint)
}

function parseSubjects(
  subjects: ByName<Voucher>,
  { roles }: Usable,
  fault: OnFault,
): ReadonlyMap<string, SubjectSource> {
  const parsed = Object.entries(subjects).map(([type, source]): readonly [string, SubjectSource] => {
    if (typeof source === 'string') return [type, { kind: source }]
    const [key, named] = 'word' in source ? (['word', source.word] as const) : (['asserted', source.asserted] as const)
    for (const [i, role] of named.entries()) {
      if (roles.has(role)) continue
      const message = `the role \`${role}\` is not declared in roles.yaml`
      fault(['subjects', type, key, i], 'unknown-role', message, oneOf(role, roles.keys()))
    }
    return [type, { kind: 'asserted', roles: new Set(named) }]
  })
  return new Map(parsed)
}

/** An alias that is already an action would change what the action's own name asks. */
function parseAliases(
  actions: ByName<ByName<string>>,
  known: Usable,
  fault: OnFault,
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  for (const [resource, aliases] of Object.entries(actions)) {
    const at = ['actions', resource]
    const sound = resource === '*' || dataResource(resource, known, (...rest) => fault(at, ...rest))
    if (!sound) continue
    const actionsThere = actionsOf(resource, known)
    for (const [alias, action] of Object.entries(aliases)) {
      if (!actionsThere.has(action)) {
        const message = `the action \`${action}\` is not known here`
        fault([...at, alias], 'unknown-action', message, oneOfActions(action, actionsThere))
      }
      if (!actionsThere.has(alias)) continue
      const message = `\`${alias}\` is an action itself, so it can't be another name for \`${action}\``
      fault([...at, alias], 'alias-action', message, 'delete the line, or choose another name')
    }
  }
  return new Map(Object.entries(actions).map(([name, aliases]) => [name, new Map(Object.entries(aliases))]))
}

function actionsOf(resource: string, { resources: { byName } }: Usable): ReadonlySet<string> {
  const data = [...byName.values()].filter(({ builtIn, name }) => !builtIn && (resource === '*' || name === resource))
  return new Set(data.flatMap(({ actions }) => [...actions.keys()]))
}

function parseAsserted(
  members: ByName<string>,
  { conditions }: Usable,
  fault: OnFault,
): ReadonlyMap<string, AssertedBy> {
  const parsed = Object.entries(members).map(([name, text]): readonly [string, AssertedBy] => {
    if (!conditions.has(name)) {
      const message = `the condition \`${name}\` is not declared in conditions.yaml`
      fault(['conditions', name], 'unknown-condition', message, oneOf(name, conditions.keys()))
    }
    const [place = '', ...member] = text.split('.')
    return [name, { in: place === 'action' ? 'action' : 'context', member: member.join('.') }]
  })
  return new Map(parsed)
}

/** Whether the resource is one of the schemas; if not, that is reported. */
function dataResource(
  name: string,
  { resources: { byName } }: Usable,
  fault: (code: string, message: string, hint?: string) => void,
): boolean {
  const data = [...byName.values()].filter(({ builtIn }) => !builtIn).map((resource) => resource.name)
  if (data.includes(name)) return true
  fault('unknown-resource', `no schema declares the resource \`${name}\``, oneOf(name, data))
  return false
}

/** A connection proves one gateway. */
function reportShared(entries: readonly CallerEntry[], file: YamlFile<CallersFile>, report: Reporter): void {
  for (const [i, entry] of entries.entries()) {
    const other = entries.slice(0, i).find(({ addresses }) => doNetworksMeet(addresses, entry.addresses))
    if (!other) continue
    const message = `\`${other.name}\` and \`${entry.name}\` share addresses, so a connection could be either`
    report(file.fault([entry.name, 'addresses'], 'addresses-shared', message, 'give each gateway networks of its own'))
  }
}
