/**
 * The worked cases of the language (language-cases.json, and those that the project adds in language-cases-beside.json),
 * as worlds and requests of the oracle.
 */
import { readFileSync } from 'node:fs'
import type { OracleRequest } from './oracle/answer.ts'
import { faultsOf, parseColumn } from './oracle/faults.ts'
import type {
  Json,
  OracleCondition,
  OraclePolicy,
  OracleRelation,
  OracleResource,
  OracleRule,
  Plain,
  World,
} from './world.ts'

type ByName<T> = Readonly<Record<string, T>>

interface CaseSchema {
  readonly fields: readonly string[]
  readonly readOnly: readonly string[]
  readonly indexed: readonly string[]
  readonly defaults?: Plain
  readonly lists?: readonly string[]
}

export interface LanguageCase {
  readonly name: string
  readonly about: string
  readonly policy: readonly string[]
  readonly ownership?: ByName<{ readonly conceal?: boolean; readonly relations: ByName<OracleRelation | string> }>
  readonly conditions?: ByName<OracleCondition>
  readonly views?: ByName<ByName<readonly string[]>>
  readonly schemas: ByName<CaseSchema>
  readonly objects: ByName<readonly Plain[]>
  readonly caller: null | {
    readonly id: string
    readonly roles: readonly string[]
    readonly claims: Plain
    readonly credential: string
    readonly authTime?: string
    readonly acr?: string
  }
  readonly request: {
    readonly now: string
    readonly address?: string
    readonly action: string
    readonly operation?: string
    readonly resource: string
    readonly id?: string
    readonly body?: Plain
    readonly view?: string
  }
  readonly expect: ByName<Json>
}

export const LANGUAGE_CASES = ['language-cases.json', 'language-cases-beside.json'].flatMap(casesOf)

function casesOf(file: string): readonly LanguageCase[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
}

/** The faults of the policy. */
export function faultsIn(one: LanguageCase): readonly string[] {
  const lines = one.policy.map(cellsOf).filter(([kind]) => kind === 'p')
  if (lines.some(([, , , , relation = '']) => !parseColumn(relation))) return ['relation-list']
  const resources = Object.keys(one.schemas).map((name) => resourceOf(one, name))
  return faultsOf({ policy: policyOf(one), resources })
}

export function worldOf(one: LanguageCase): World {
  const { request, caller, objects } = one
  const { authTime, ...known } = caller ?? { roles: [], claims: {} }
  const record = objects.users?.find(({ id }) => id === caller?.id)
  return {
    policy: policyOf(one),
    resource: resourceOf(one, request.resource),
    caller: {
      ...known,
      ...(record && { record }),
      ...(authTime !== undefined && { authTime: Date.parse(authTime) }),
    },
    now: Date.parse(request.now),
    ...(request.address !== undefined && { address: request.address }),
    objects: new Map(Object.entries(objects)),
  }
}

export function requestOf({ request, views }: LanguageCase): OracleRequest {
  const { action, operation, id, body, view, resource } = request
  return {
    action,
    ...(operation !== undefined && { operation }),
    ...(id !== undefined && { id }),
    ...(body && { body }),
    ...(view !== undefined && { view: new Set(views?.[resource]?.[view]) }),
  }
}

function policyOf({ policy, ownership = {}, conditions = {}, views = {}, caller }: LanguageCase): OraclePolicy {
  const lines = policy.map(cellsOf)
  const links = lines.flatMap(([kind, role = '', inherits = '']) => (kind === 'g' ? [{ role, inherits }] : []))
  const named = [...lines.map(([, subject = '']) => subject), ...links.map(({ inherits }) => inherits)]
  const concealed = Object.entries(ownership).filter(([, { conceal }]) => conceal)
  return {
    roles: [...new Set([...(caller?.roles ?? []), ...named])],
    links,
    rules: lines.flatMap((cells) => (cells[0] === 'p' ? [ruleOf(cells)] : [])),
    relations: new Map(Object.entries(ownership).map(([name, { relations }]) => [name, relationsOf(relations)])),
    views: new Map(Object.entries(views).map(([name, some]) => [name, new Map(Object.entries(some))])),
    conditions: new Map(Object.entries(conditions)),
    conceal: new Set(concealed.map(([name]) => name)),
  }
}

function cellsOf(line: string): readonly string[] {
  return line.split(',').map((cell) => cell.trim())
}

function ruleOf(cells: readonly string[]): OracleRule {
  const [, subject = '', resource = '', actions = '', relation = '', views = '', effect = '', end] = cells
  return {
    subject,
    resource,
    actions: actions.split('|'),
    ...(parseColumn(relation) ?? { relations: [] }),
    views: views.split('|'),
    effect: effect === 'allow' ? 'allow' : 'deny',
    ...(end !== undefined && { until: Date.parse(end.slice('until='.length)) }),
  }
}

function relationsOf(relations: ByName<OracleRelation | string>): ReadonlyMap<string, OracleRelation> {
  return new Map(Object.entries(relations).map(([name, form]) => [name, relationOf(form)]))
}

function relationOf(form: OracleRelation | string): OracleRelation {
  if (typeof form === 'string') return { field: form, equals: 'id' }
  return 'equals' in form ? { ...form, equals: form.equals.slice('subject.'.length) } : form
}

function resourceOf({ schemas, request }: LanguageCase, name: string): OracleResource {
  const { fields = [], readOnly = [], indexed = [], ...more } = schemas[name] ?? {}
  const { action, operation } = request
  const isOwn = operation !== undefined && operation !== action
  const builtIn = name.startsWith('system/')
  return {
    name,
    builtIn,
    fields,
    readOnly,
    indexed: ['id', ...indexed],
    withoutFields: builtIn ? [action] : ['delete', 'options'],
    ...more,
    ownWrites: isOwn && ['replace', 'update'].includes(operation) ? [action] : [],
  }
}
