/**
 * Guarantees that a policy keeps already, for people to choose from: those that refuse the most mistakes first. A mistake is
 * one that `matrix mutate` makes.
 */
import { setImmediate } from 'node:timers/promises'
import { Document, isMap, stringify } from 'yaml'
import { columnsAbout, guaranteesHeld, guaranteesNoticing } from '../../analysis/guarantees/noticing.ts'
import { Prover } from '../../analysis/guarantees/prove.ts'
import { FileError } from '../../base/diagnostic.ts'
import type { GrantGuarantee, Policy } from '../../decide/policy.ts'
import { parseGuarantees } from '../../policy/parse/parse-guarantees.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { formatsOf } from '../../present/report.ts'
import { count } from '../../present/text.ts'
import { isScalar } from '../../resources/object.ts'
import type { Action, Resource, Resources } from '../../resources/resource.ts'
import { sampleResources } from '../matrix/fixture/samples.ts'
import { makeMutants } from '../matrix/mutate/judge-mutant.ts'
import type { Mutant } from '../matrix/mutate/mutants.ts'

interface SuggestFrom {
  readonly policy: Policy
  readonly files: PolicyFiles
  readonly resources: Resources
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The resources that sentences are about; undefined for all. */
  readonly about: ReadonlySet<string> | undefined
  readonly observe: (done: number, of: number) => void
}

interface Suggestion {
  readonly entry: GuaranteeEntry
  /** How many of the mistakes it refuses. */
  readonly notices: number
  /** Those of them that neither the policy's own guarantees nor the sentences before it refuse. */
  readonly more: readonly Mutant[]
}

export interface Suggestions {
  readonly suggestions: readonly Suggestion[]
  /** Mistakes; if all were tried, without those that the parser refuses. */
  readonly mutants: number
  /** How many of them were tried. */
  readonly tried: number
  /** How many of these the policy's own guarantees refuse. */
  readonly refused: number
}

/** As in guarantees.yaml. */
interface GuaranteeEntry {
  readonly name: string
  readonly never?: EntryTerms & { readonly unless?: string | undefined }
  readonly always?: EntryTerms & { readonly when?: string | undefined }
}

interface EntryTerms {
  readonly subjects?: readonly string[] | { readonly except: readonly string[] }
  readonly resource: string
  readonly actions: readonly string[]
  readonly fields?: readonly string[]
}

interface HeldSentence {
  readonly entry: GuaranteeEntry
  readonly guarantee: GrantGuarantee
}

/** Of more mistakes, every second, third … is tried. */
const MOST_MUTANTS = 2000

/** More sentences are not read. */
const MOST_SUGGESTED = 24

export async function suggestGuarantees(from: SuggestFrom): Promise<Suggestions> {
  const { policy, resources, now, about, observe } = from
  const own = guaranteesHeld(policy, { resources, now })
  const candidates = [...resources.byName.values()]
    .filter(({ name, builtIn, external }) => !builtIn && !external && (about?.has(name) ?? true))
    .flatMap((resource) => new Sentences(from, resource).all())
  const { mutants, tried } = mutantsOf(from)
  const noticed = new Map<HeldSentence, Set<Mutant>>(candidates.map((one) => [one, new Set()]))
  const refused = new Set<Mutant>()
  for (const [i, { mutant, changed }] of tried.entries()) {
    await setImmediate()
    const policies = { before: policy, after: changed }
    if (guaranteesNoticing(own, policies, { resources, now }).length > 0) refused.add(mutant)
    const guarantees = new Map(candidates.map((one) => [one.guarantee, one]))
    for (const one of guaranteesNoticing([...guarantees.keys()], policies, { resources, now })) {
      const candidate = guarantees.get(one as GrantGuarantee)
      if (candidate) noticed.get(candidate)?.add(mutant)
    }
    observe(i + 1, tried.length)
  }
  return { suggestions: strongestFirst(noticed, refused), mutants, tried: tried.length, refused: refused.size }
}

/** Each refuses the most mistakes of those that nothing before it refuses. */
function strongestFirst(
  noticed: ReadonlyMap<HeldSentence, ReadonlySet<Mutant>>,
  refused: ReadonlySet<Mutant>,
): readonly Suggestion[] {
  const left = new Map(noticed)
  const known = new Set(refused)
  const suggestions: Suggestion[] = []
  while (suggestions.length < MOST_SUGGESTED) {
    const [best] = [...left]
      .map(([{ entry }, mutants]) => ({ entry, mutants, more: mutants.difference(known) }))
      .toSorted((a, b) => b.more.size - a.more.size || wordsIn(a.entry) - wordsIn(b.entry))
    if (!best || best.more.size === 0) break
    suggestions.push({ entry: best.entry, notices: best.mutants.size, more: [...best.more] })
    for (const mutant of best.more) known.add(mutant)
    for (const one of left.keys()) if (one.entry === best.entry) left.delete(one)
  }
  return suggestions
}

function wordsIn({ name }: GuaranteeEntry): number {
  return name.split(' ').length
}

function mutantsOf({ files, resources, policy, about }: SuggestFrom) {
  const samples = sampleResources(resources)
  const made = makeMutants({ files, resources }, policy, {
    only: undefined,
    valuesOf: (resource, field) => (samples.get(resource.name)?.values.get(field) ?? []).filter(isScalar),
  }).filter(({ resource }) => !about || resource === undefined || resource === '*' || about.has(resource))
  const step = Math.max(1, Math.ceil(made.length / MOST_MUTANTS))
  const tried = made
    .filter((_, i) => i % step === 0)
    .flatMap((mutant) => {
      const changed = parsed(mutant.files, resources)
      return changed ? [{ mutant, changed }] : []
    })
  return { mutants: step === 1 ? tried.length : made.length, tried }
}

/** Undefined for files that the parser refuses. */
function parsed(files: PolicyFiles, resources: Resources): Policy | undefined {
  try {
    return parsePolicy(files, resources)
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

// ---- The sentences that hold ----------------------------------------------------------------------------------------

/** More relation columns of one resource are not tried. */
const MOST_COLUMNS = 40

/** An action of a resource, and what is said about it: the same of several actions is one sentence. */
interface Said {
  readonly action: string
  readonly terms: Omit<EntryTerms, 'resource' | 'actions'>
  readonly column: string | undefined
}

/** The sentences about one resource that the policy keeps. */
class Sentences {
  readonly #from: SuggestFrom
  readonly #resource: Resource
  readonly #prover: Prover
  /** Relation columns, and undefined for none. */
  readonly #columns: readonly (string | undefined)[]
  readonly #actions: readonly Action[]

  constructor(from: SuggestFrom, resource: Resource) {
    const { policy, resources, now } = from
    this.#from = from
    this.#resource = resource
    this.#prover = new Prover(policy, resources, now)
    this.#actions = [...resource.actions.values()].filter(({ name }) => name !== 'options')
    this.#columns = [undefined, ...columnsAbout(policy, resource).slice(0, MOST_COLUMNS)]
  }

  all(): readonly HeldSentence[] {
    const nevers = this.#actions.flatMap((action) => this.#nevers(action))
    const always = this.#actions.flatMap((action) => this.#always(action))
    return [...this.#candidates('never', nevers), ...this.#candidates('always', always)]
  }

  #nevers({ name, hasFields }: Action): readonly Said[] {
    return this.#columns.flatMap((column): readonly Said[] => {
      const never = this.#read({ never: { ...this.#about([name]), unless: column } })
      const whole = never && this.#allowed(never)
      if (!never || (hasFields && whole?.length === 0)) return whole ? [{ action: name, terms: {}, column }] : []
      const some = hasFields ? [...this.#resource.fields.keys()] : []
      const byRoles = Map.groupBy(some, (field) => String(this.#allowed({ ...never, fields: [field] })))
      const ofFields = [...byRoles].flatMap(([roles, fields]) =>
        roles === String(whole) || roles === 'undefined' ? [] : [{ roles: roles.split(',').filter(Boolean), fields }],
      )
      return [...(whole ? [{ roles: whole }] : []), ...ofFields].map(({ roles, ...rest }) => ({
        action: name,
        terms: { ...(roles.length > 0 && { subjects: { except: roles } }), ...rest },
        column,
      }))
    })
  }

  /** The roles that can do what nobody ever should; undefined if others can too. */
  #allowed(never: GrantGuarantee): string[] | undefined {
    const roles: string[] = []
    while (true) {
      const answer = this.#prover.answer({ ...never, subjects: { without: roles } })
      if (answer.kind === 'proven') return this.#withoutHeirs(roles)
      const [first] = answer.kind === 'broken' ? answer.breaks() : []
      const { caller } = first?.acts[0] ?? {}
      const [role] = caller?.roles ?? []
      if (role === undefined || caller?.user !== undefined || roles.includes(role)) return undefined
      roles.push(role)
    }
  }

  /** A role includes those that inherit it. */
  #withoutHeirs(roles: readonly string[]): string[] {
    const { links } = this.#from.policy
    const isHeir = (role: string): boolean =>
      links.some((link) => link.role === role && (roles.includes(link.inherits) || isHeir(link.inherits)))
    return roles.filter((role) => !isHeir(role)).toSorted()
  }

  #always({ name, hasFields }: Action): readonly Said[] {
    const { roles, links } = this.#from.policy
    const callers = ['everyone', 'anonymous', ...roles.keys()]
    const read = (column: string | undefined) => this.#read({ always: { ...this.#about([name]), when: column } })
    const meant = new Map(this.#columns.map((column) => [column, read(column)]))
    const holds = (caller: string, column: string | undefined, field?: string) => {
      const always = meant.get(column)
      const more = { subjects: { with: [caller] }, ...(field !== undefined && { fields: [field] }) }
      return always !== undefined && this.#prover.answer({ ...always, ...more }).kind === 'proven'
    }
    return callers.flatMap((caller) => {
      const inherited = ['everyone', ...links.filter(({ role }) => role === caller).map(({ inherits }) => inherits)]
      const columns = holds(caller, undefined)
        ? [undefined]
        : this.#columns.filter((text) => text && holds(caller, text))
      return columns.flatMap((column): readonly Said[] => {
        if (inherited.some((one) => one !== caller && holds(one, column))) return []
        const all = hasFields ? [...this.#resource.fields.keys()] : []
        const fields = all.filter((field) => holds(caller, column, field))
        const said = { action: name, column }
        return [
          { ...said, terms: { subjects: [caller] } },
          ...(fields.length > 0 ? [{ ...said, terms: { subjects: [caller], fields } }] : []),
        ]
      })
    })
  }

  #candidates(kind: 'never' | 'always', said: readonly Said[]): readonly HeldSentence[] {
    const groups = Map.groupBy(said, ({ terms, column }) => JSON.stringify([terms, column]))
    return [...groups.values()].flatMap((group) => {
      const [{ terms, column } = { terms: {}, column: undefined }] = group
      const { subjects, ...rest } = terms
      const all = { ...(subjects && { subjects }), ...this.#about(group.map(({ action }) => action)), ...rest }
      const entry: GuaranteeEntry = {
        name: nameOf(kind, all, column),
        ...(kind === 'never' ? { never: { ...all, unless: column } } : { always: { ...all, when: column } }),
      }
      const guarantee = this.#read(entry)
      return guarantee && this.#prover.answer(guarantee).kind === 'proven' ? [{ entry, guarantee }] : []
    })
  }

  #about(actions: readonly string[]) {
    return { resource: this.#resource.name, actions }
  }

  /** Undefined for a sentence that a policy can't have. */
  #read(entry: Omit<GuaranteeEntry, 'name'>): GrantGuarantee | undefined {
    const { roles, ownership, views, conditions } = this.#from.policy
    const names = { resources: this.#from.resources, roles, ownership, views, conditions: new Set(conditions.keys()) }
    let isSound = true
    const text = stringify([{ name: 'suggested', ...entry }])
    const { guarantees } = parseGuarantees({ name: 'suggested', text }, names, () => {
      isSound = false
    })
    return isSound ? (guarantees[0] as GrantGuarantee | undefined) : undefined
  }
}

/** `notes: create, update only where owner holds` */
function nameOf(
  kind: 'never' | 'always',
  { resource, actions, fields, subjects }: EntryTerms,
  column?: string,
): string {
  const what = `${actions.join(', ')}${fields ? ` of ${fields.join(', ')}` : ''}`
  const where = column === undefined ? '' : `where ${column} holds`
  if (kind === 'always') return `${resource}: ${subjects} can always ${what} ${where}`.trim()
  const roles = subjects && 'except' in subjects ? `by ${subjects.except.join(', ')}` : ''
  const who = [roles, where].filter(Boolean).join(', or ')
  return `${resource}: ${what} ${who === '' ? 'by nobody' : `only ${who}`}`
}

// ---- As a report ----------------------------------------------------------------------------------------------------

export const SUGGEST_FORMATS = formatsOf((found: Suggestions) => ({
  text: () => [
    [...headText(found).map((line) => `# ${line}`)],
    ...found.suggestions.map((one) => suggestionText(one, found)),
  ],
  json: () => ({
    mutants: found.mutants,
    tried: found.tried,
    refused: found.refused,
    suggestions: found.suggestions.map(({ entry, notices, more }) => ({
      guarantee: entry,
      notices,
      more: more.length,
      examples: examplesOf(more),
    })),
  }),
}))

function headText({ suggestions, mutants, tried, refused }: Suggestions): readonly string[] {
  const kept = refused === 0 ? '' : `; the present guarantees refuse ${refused} of them`
  return [
    suggestions.length === 0
      ? 'No sentence was found that refuses more mistakes than the present guarantees.'
      : 'Each of these sentences holds now. Copy those that must always hold into guarantees.yaml.',
    `Tried with ${tried === mutants ? count(tried, 'mistake') : `${tried} of ${count(mutants, 'mistake')}`}${kept}.`,
  ]
}

/** An entry of guarantees.yaml, below what it is worth. */
function suggestionText({ entry, notices, more }: Suggestion, { tried }: Suggestions): readonly string[] {
  const share = notices === more.length ? '' : `, and ${more.length} of these are refused by nothing above`
  return [
    `# refuses ${notices} of ${count(tried, 'mistake')}${share}, such as:`,
    ...examplesOf(more).map((text) => `#   ${text}`),
    ...entryText(entry).trimEnd().split('\n'),
  ]
}

function entryText(entry: GuaranteeEntry): string {
  const document = new Document([entry])
  for (const kind of ['never', 'always']) {
    const said = document.getIn([0, kind], true)
    if (isMap(said)) said.flow = true
  }
  return document.toString({ lineWidth: 0 })
}

const EXAMPLES = 2

function examplesOf(mutants: readonly Mutant[]): readonly string[] {
  return mutants.slice(0, EXAMPLES).map(({ file, line, operator, change }) => `${file}:${line}  ${operator}  ${change}`)
}
