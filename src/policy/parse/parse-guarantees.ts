/** guarantees.yaml -> what each version of the policy must keep. The file may be absent: then nothing is promised. */

import { guarantees } from '#compiled/policy-files'
import type { Diagnostic, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { parseYaml, shapeBy } from '../../base/yaml-file.ts'
import { changesStored, operationsOf } from '../../decide/callers-and-routes.ts'
import type {
  GrantGuarantee,
  Guarantee,
  GuaranteedAct,
  GuaranteedSubjects,
  Policy,
  Ratchet,
  RoleGuarantee,
} from '../../decide/policy.ts'
import { hadOf, roleGuaranteesOf } from '../../decide/role-guarantees.ts'
import { namesText } from '../../present/quote.ts'
import type { Resource } from '../../resources/resource.ts'
import { oneOfActions } from './meant-action.ts'
import type { OnFault } from './parse-callers.ts'
import { parseRelationColumn } from './relation-column.ts'
import type { RuleVocabulary } from './rule-scope.ts'

/** `never` may have `unless`, all others `when`. */
interface ActForm {
  readonly subjects?: readonly string[] | { readonly except: readonly string[] }
  readonly resource: string
  readonly actions: readonly string[]
  readonly fields?: readonly string[]
  readonly unless?: string
  readonly when?: string
}

/** What each kind of guarantee says, by the key that it stands behind. */
interface GuaranteeForms {
  readonly never: ActForm
  readonly always: ActForm
  readonly apart: readonly [ActForm, ActForm]
  readonly 'roles-apart': readonly string[]
  readonly ratchet: Pick<Ratchet, 'never' | 'resource' | 'actions'>
  readonly 'at-most': { readonly role: string; readonly people: number }
}

type Kind = keyof GuaranteeForms

type Entry = Partial<GuaranteeForms> & { readonly name: string; readonly anywhere?: boolean }

type AnyGuarantee = Guarantee | RoleGuarantee | Ratchet
type Parsed = DistributedOmit<AnyGuarantee, 'name' | 'place'>
type DistributedOmit<T, K extends keyof T> = T extends unknown ? Omit<T, K> : never

/** Faults have paths from the entry on. Undefined if nothing can be promised, which is reported. */
type ParseKind<Form> = (form: Form, known: RuleVocabulary, fault: OnFault, entry: Entry) => Parsed | undefined

const KINDS: { readonly [K in Kind]: ParseKind<GuaranteeForms[K]> } = {
  never: parseGrants('never'),
  always: parseGrants('always'),
  apart: parseApart,
  'roles-apart': parseRolesApart,
  ratchet: parseRatchet,
  'at-most': parseAtMost,
}

const shape = shapeBy<readonly Entry[]>(guarantees)

/** In the order of the file. */
export function parseGuarantees(
  source: SourceFile | undefined,
  known: RuleVocabulary,
  report: (diagnostic: Diagnostic) => void,
): Pick<Policy, 'guarantees' | 'roleGuarantees' | 'ratchets'> {
  const file = source && parseYaml(source, shape, report)
  if (!file) return { guarantees: [], roleGuarantees: [], ratchets: [] }
  const names = new Set<string>()
  const all = file.value.flatMap((entry, i) => {
    const fault: OnFault = (path, ...rest) => report(file.fault([i, ...path], ...rest))
    const { line, column } = file.fault([i], '', '')
    if (names.has(entry.name)) fault(['name'], 'guarantee-twice', 'two guarantees have this name', 'rename one of them')
    names.add(entry.name)
    const parsed = parseEntry(entry, known, fault)
    return parsed ? [{ ...parsed, name: entry.name, place: { file: source.name, line, column } }] : []
  })
  const ratchets = all.filter((one) => one.kind === 'ratchet')
  const others = all.filter((one) => one.kind !== 'ratchet')
  return {
    guarantees: others.filter((one) => !isAboutPeople(one)),
    roleGuarantees: others.filter(isAboutPeople),
    ratchets,
  }
}

function isAboutPeople(guarantee: Guarantee | RoleGuarantee): guarantee is RoleGuarantee {
  return guarantee.kind === 'roles-apart' || guarantee.kind === 'at-most'
}

function parseEntry(entry: Entry, known: RuleVocabulary, fault: OnFault): Parsed | undefined {
  const all = Object.keys(KINDS) as Kind[]
  const said = all.filter((kind) => entry[kind] !== undefined)
  const [kind] = said
  if (kind === undefined || said.length > 1) {
    const message = kind
      ? `a guarantee says one thing, not both ${namesText(said, ' and ')}`
      : 'the guarantee says nothing'
    fault([], 'guarantee-kind', message, kind ? 'write two guarantees' : `add ${namesText(all, ' or ')}`)
    return undefined
  }
  if (entry.anywhere !== undefined && kind !== 'apart') {
    fault(['anywhere'], 'guarantee-kind', `\`${kind}\` has no \`anywhere\``, 'leave it out: only `apart` has it')
  }
  return parseKind(kind, entry, known, fault)
}

function parseKind<K extends Kind>(kind: K, entry: Entry, known: RuleVocabulary, fault: OnFault): Parsed | undefined {
  const forms: Partial<GuaranteeForms> = entry
  const form: GuaranteeForms[K] | undefined = forms[kind]
  return form && KINDS[kind](form, known, fault, entry)
}

// ---- never, always, apart --------------------------------------------------------------------------------------------

function parseGrants(kind: GrantGuarantee['kind']): ParseKind<ActForm> {
  return (form, known, fault) => {
    const act = parseAct(form, kind, known, (path, ...rest) => fault([kind, ...path], ...rest))
    return act && { kind, ...act }
  }
}

function parseApart(
  forms: GuaranteeForms['apart'],
  known: RuleVocabulary,
  fault: OnFault,
  { anywhere = false }: Entry,
): Parsed | undefined {
  const [one, other] = forms.map((form, i) =>
    parseAct(form, 'apart', known, (path, ...rest) => fault(['apart', i, ...path], ...rest)),
  )
  if (!one || !other) return undefined
  if (!anywhere) refuseDistinct([one, other], known, fault)
  return { kind: 'apart', acts: [one, other], anywhere }
}

/** Two acts that no object can have both. */
function refuseDistinct([one, other]: readonly [GuaranteedAct, GuaranteedAct], known: RuleVocabulary, fault: OnFault) {
  const hint = 'add `anywhere: true`, if no caller may do both on any two objects'
  if (one.resource !== other.resource) {
    const message = `no object is one of \`${one.resource}\` and of \`${other.resource}\`, so the guarantee can't matter`
    fault(['apart', 1, 'resource'], 'guarantee-idle', message, hint)
    return
  }
  const resource = known.resources.byName.get(one.resource)
  const operations = [one, other].flatMap(({ actions }) =>
    actions.flatMap((name) => (resource ? operationsOf(resource, name) : [])),
  )
  const [once] = (['create', 'delete'] as const).filter((name) => operations.every((operation) => operation === name))
  if (once)
    fault(['apart'], 'guarantee-idle', `nobody can \`${once}\` an object twice, so the guarantee can't matter`, hint)
}

/** Undefined if there is no such resource, which is reported. */
function parseAct(
  form: ActForm,
  kind: Guarantee['kind'],
  known: RuleVocabulary,
  fault: OnFault,
): GuaranteedAct | undefined {
  const subjects = parseSubjects(form.subjects, known, fault)
  const resource = dataResource(form.resource, known, fault)
  if (!resource) return undefined
  const { actions, fields } = form
  const sound = soundActions(resource, actions, fault)
  if (sound && fields) refuseFields(resource, { kind, actions, fields }, fault)
  const terms = sound ? parseTerms(form, resource, known, fault) : undefined
  return { subjects, resource: resource.name, actions, ...(fields && { fields }), ...(terms && { terms }) }
}

function parseSubjects(
  subjects: ActForm['subjects'] = { except: [] },
  { roles }: RuleVocabulary,
  fault: OnFault,
): GuaranteedSubjects {
  const isExcept = 'except' in subjects
  const names = isExcept ? subjects.except : subjects
  const known = [...roles.keys(), ...(isExcept ? [] : ['anonymous', 'everyone'])]
  for (const [i, name] of names.entries()) {
    refuseUnknownRole(name, known, ['subjects', ...(isExcept ? ['except'] : []), i], fault)
  }
  return isExcept ? { without: names } : { with: names }
}

function refuseUnknownRole(name: string, known: readonly string[], path: Parameters<OnFault>[0], fault: OnFault): void {
  if (known.includes(name)) return
  fault(path, 'unknown-role', `the role \`${name}\` is not declared in roles.yaml`, oneOf(name, known))
}

function dataResource(name: string, { resources }: RuleVocabulary, fault: OnFault): Resource | undefined {
  const data = [...resources.byName.values()].filter(({ builtIn }) => !builtIn)
  const found = data.find((resource) => resource.name === name)
  if (found) return found
  const hint = oneOf(
    name,
    data.map((one) => one.name),
  )
  fault(['resource'], 'unknown-resource', `no schema declares the resource \`${name}\``, hint)
  return undefined
}

/** Nothing is decided about an object where the action is `options`. */
function soundActions(resource: Resource, actions: ActForm['actions'], fault: OnFault): boolean {
  const known = new Set([...resource.actions.keys()].filter((name) => name !== 'options'))
  const unknown = actions.filter((name) => !known.has(name))
  for (const name of unknown) {
    const message = `\`${resource.name}\` has no action \`${name}\`, so the guarantee can't matter`
    fault(['actions', actions.indexOf(name)], 'unknown-action', message, oneOfActions(name, known))
  }
  return unknown.length === 0
}

function refuseFields(
  resource: Resource,
  { kind, actions, fields }: Pick<Guarantee, 'kind'> & Pick<Required<GuaranteedAct>, 'actions' | 'fields'>,
  fault: OnFault,
): void {
  for (const [i, name] of actions.entries()) {
    if (resource.actions.get(name)?.hasFields) continue
    const hint = 'leave `fields` out, or write a guarantee of its own for this action'
    fault(['actions', i], 'guarantee-fields', `\`${name}\` has no fields`, hint)
  }
  const isWrite = (operation: string) => operation === 'create' || changesStored(operation)
  const isWriting = (name: string) => operationsOf(resource, name).every(isWrite)
  const writes = kind === 'always' ? actions.some(isWriting) : actions.every(isWriting)
  for (const [i, name] of fields.entries()) {
    const field = resource.fields.get(name)
    if (!field) {
      const message = `\`${resource.name}\` has no field \`${name}\``
      fault(['fields', i], 'unknown-field', message, oneOf(name, resource.fields.keys()))
    } else if (field.readOnly && writes) {
      const message = `no client writes \`${name}\`, so the guarantee can't matter`
      fault(['fields', i], 'guarantee-idle', message, 'leave the field out')
    }
  }
}

/** As in the relation column of a rule about these actions. */
function parseTerms(
  form: ActForm,
  resource: Resource,
  { resources, ownership, conditions }: RuleVocabulary,
  fault: OnFault,
): GuaranteedAct['terms'] {
  const word = form.unless === undefined ? 'when' : 'unless'
  const text = form[word]
  if (text === undefined) return undefined
  if (word === 'unless' && text === 'any') {
    fault([word], 'guarantee-idle', "`any` always holds, so the guarantee can't matter", 'name a relation')
  }
  const context = { resources, ownership, conditions, covered: [resource], actions: form.actions }
  return parseRelationColumn(text, context, (_cell, code, message, hint) =>
    fault([word], code, message, typeof hint === 'function' ? hint() : hint),
  )
}

// ---- ratchet ---------------------------------------------------------------------------------------------------------

function parseRatchet(form: GuaranteeForms['ratchet'], known: RuleVocabulary, onFault: OnFault): Parsed | undefined {
  const fault: OnFault = (path, ...rest) => onFault(['ratchet', ...path], ...rest)
  const resource = dataResource(form.resource, known, fault)
  if (!resource || (form.actions && !soundActions(resource, form.actions, fault))) return undefined
  return { kind: 'ratchet', ...form }
}

// ---- roles-apart, at-most --------------------------------------------------------------------------------------------

function parseRolesApart(names: readonly string[], { roles }: RuleVocabulary, fault: OnFault): Parsed {
  for (const [i, name] of names.entries()) refuseUnknownRole(name, [...roles.keys()], ['roles-apart', i], fault)
  return { kind: 'roles-apart', roles: names }
}

function parseAtMost(form: GuaranteeForms['at-most'], { roles }: RuleVocabulary, fault: OnFault): Parsed {
  refuseUnknownRole(form.role, [...roles.keys()], ['at-most', 'role'], fault)
  return { kind: 'at-most', ...form }
}

/** A role that inherits two of them would give both to whoever has it: an error at the line that brings them together. */
export function refuseHeirs(
  policy: Pick<Policy, 'roles' | 'links' | 'roleGuarantees'>,
  { name: file }: SourceFile,
  report: (diagnostic: Diagnostic) => void,
): void {
  for (const apart of roleGuaranteesOf(policy).apart) {
    const givesTogether = (role: string) => hadOf(apart, [role]).size > 1
    for (const [role, links] of Map.groupBy(policy.links, (link) => link.role)) {
      // A role that only inherits such a role needs no other correction.
      const isFirst = givesTogether(role) && !links.some(({ inherits }) => givesTogether(inherits))
      const link = isFirst && links.findLast(({ inherits }) => apart.givenBy.has(inherits))
      if (!link) continue
      const message = `whoever has \`${role}\` has ${namesText(hadOf(apart, [role]), ' and ')} together, which \`${apart.name}\` keeps apart`
      const hint = 'remove one of its lines that inherit them, or change the guarantee'
      report({ file, line: link.line, column: 1, code: 'roles-apart', severity: 'error', message, hint })
    }
  }
}
