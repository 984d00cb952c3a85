/**
 * Which parts of a policy a recorded request needed: those without which, each alone, it would have got another answer. The
 * request is decided again as `policy replay` does it, once for all requests that are decided alike.
 */
import { LRUCache } from 'lru-cache'
import { compare } from '../../analysis/replay/compare.ts'
import { decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import { EqualDecisions } from '../../analysis/replay/equal-decisions.ts'
import { createRoute } from '../../decide/callers-and-routes.ts'
import { directPolicy } from '../../decide/grants/direct.ts'
import { performs } from '../../decide/rules/terms.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import { type Revision, revisionOf } from '../../policy/policy-files.ts'
import type { Command, Resource, Resources } from '../../resources/resource.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import { recordUnder } from '../replay/replay.ts'
import { concerns, type PolicyPart, withoutPart } from './parts.ts'

export interface Needs {
  /** `unconcerned`: no policy was asked. `undecidable`: the record doesn't show what the present policy answers. */
  readonly kind: 'allowed' | 'refused' | 'unconcerned' | 'undecidable'
  /** Why it is undecidable. */
  readonly why?: string
  /** Without one of these, the request would be refused or allowed instead, or show other objects or fields. */
  readonly needed: readonly PolicyPart[]
  /** Without one of these, the request would be refused with another answer. */
  readonly refusing: readonly PolicyPart[]
  /** The record doesn't show whether these were needed, and why. */
  readonly unseen: readonly (readonly [part: PolicyPart, why: string])[]
  /** The lines that match. */
  readonly lines: readonly number[]
}

/** Different decisions that are remembered; each takes about a kilobyte. */
const MOST_REMEMBERED = 50_000
/** Policies without one part that are kept. */
const MOST_POLICIES = 3000

const NOTHING = { needed: [], refusing: [], unseen: [], lines: [] } as const

export class NeededParts {
  readonly #loaded: LoadedPolicy
  readonly #resources: Resources
  readonly #parts: readonly PolicyPart[]
  readonly #places: ReadonlyMap<PolicyPart, number>
  readonly #revision: Revision
  readonly #equal: EqualDecisions
  readonly #remembered = new LRUCache<string, Needs>({ maxSize: MOST_REMEMBERED, sizeCalculation: () => 1 })
  readonly #policies = new LRUCache<string, ActivePolicy>({ maxSize: MOST_POLICIES, sizeCalculation: () => 1 })
  readonly #about = new Map<string, readonly PolicyPart[]>()

  constructor(loaded: LoadedPolicy, resources: Resources, parts: readonly PolicyPart[]) {
    this.#loaded = loaded
    this.#resources = resources
    this.#parts = parts
    this.#places = new Map(parts.map((part, i) => [part, i]))
    this.#revision = revisionOf(loaded.files, loaded.blockedFile)
    this.#equal = new EqualDecisions(loaded.policy, loaded.blocked)
  }

  async of(record: DecisionRecord): Promise<Needs> {
    const key = this.#equal.keyOf(record)
    const known = this.#remembered.get(key)
    if (known) return known
    const needs = await this.#find(record)
    this.#remembered.set(key, needs)
    return needs
  }

  async #find(whole: DecisionRecord): Promise<Needs> {
    // Who could read the parent got the rest by its own rules.
    const record = whole.problem === 'object-not-found' ? whole : { ...whole, parent: undefined }
    const resource = this.#resources.byName.get(record.resource ?? '')
    if (!resource) return this.#withoutResource(record)
    // As another revision, so that nothing depends on which one made the record.
    const then = await recordUnder(this.#without(undefined, resource), { ...record, revision: '' })
    if ('kind' in then) return this.#undecidable(record, resource, then.why)
    const now = await decideAgain(this.#without(undefined, resource), then)
    if (now.kind === 'unconcerned') return { kind: 'unconcerned', ...NOTHING }
    if (now.kind === 'undecidable') return this.#undecidable(record, resource, now.why)
    const found = await this.#tryEach(then, resource)
    return {
      kind: now.kind === 'allowed' && then.problem === undefined ? 'allowed' : 'refused',
      ...found,
      unseen: [...found.unseen, ...this.#asked(record), ...this.#readBeside(whole, resource)],
      lines: now.kind === 'allowed' ? now.decision.evidence.lines : now.kind === 'refused' ? now.lines : [],
    }
  }

  async #tryEach(then: DecisionRecord, resource: Resource): Promise<Pick<Needs, 'needed' | 'refusing' | 'unseen'>> {
    const [needed, refusing, unseen]: [PolicyPart[], PolicyPart[], [PolicyPart, string][]] = [[], [], []]
    for (const part of this.#candidates(then, resource)) {
      const again = await decideAgain(this.#without(part, resource), then)
      if (again.kind === 'undecidable') unseen.push([part, again.why])
      if (again.kind === 'undecidable' || again.kind === 'unconcerned') continue
      const difference = compare(then, again)
      if (difference) (difference.change === 'refused-otherwise' ? refusing : needed).push(part)
    }
    return { needed, refusing, unseen }
  }

  async #withoutResource(record: DecisionRecord): Promise<Needs> {
    const again = await decideAgain({ resources: this.#resources, policyAt: never }, record)
    if (again.kind !== 'undecidable') return { kind: 'unconcerned', ...NOTHING }
    return { kind: 'undecidable', why: again.why, ...NOTHING }
  }

  /** A request that was refused needed no grant, whatever the record doesn't show. */
  #undecidable(record: DecisionRecord, resource: Resource, why: string): Needs {
    const wasRefused = record.problem !== undefined
    const mayNeed = this.#candidates(record, resource).filter((part) => !(wasRefused && isOfGrant(part)))
    return { kind: 'undecidable', why, ...NOTHING, unseen: mayNeed.map((part) => [part, why]) }
  }

  /** What the questions of another service may have needed: no replay decides them again. */
  #asked({ asked = [], searched }: DecisionRecord): [PolicyPart, string][] {
    const questions = [
      ...asked.filter(({ decision }) => decision),
      ...(searched && searched.found.length > 0 ? [searched] : []),
    ]
    return questions.flatMap(({ resource: name = '', action = '' }) => {
      const resource = this.#resources.byName.get(name)
      const parts = resource ? this.#partsAbout(resource) : []
      return parts.filter((part) => performing(part, action)).map((part): [PolicyPart, string] => [part, ASKED])
    })
  }

  /** What the request may have needed to read beside its own objects: a parent, what it refers to, and what it showed. */
  #readBeside(
    { problem, parent, expanded = [], facts }: DecisionRecord,
    { references = [] }: Resource,
  ): [PolicyPart, string][] {
    if (problem !== undefined) return []
    const referred = references.filter(({ field }) => facts?.named?.includes(field))
    const read = [...expanded, ...(parent ? [parent] : []), ...referred.map(({ reference }) => reference)]
    return [...new Set(read.map(({ resource }) => resource))].flatMap((name) => {
      const resource = this.#resources.byName.get(name)
      const parts = resource ? this.#partsAbout(resource) : []
      return parts.filter((part) => performing(part, 'read')).map((part): [PolicyPart, string] => [part, BESIDE])
    })
  }

  /** A decision asks for the grants of the caller to its action and, about one object, to read it. */
  #candidates(record: DecisionRecord, resource: Resource): readonly PolicyPart[] {
    const { subject, roles = [], rolesLost, authentication, action = '', facts } = record
    const { also } = resource.actions.get(action) ?? {}
    const actions = facts?.where ? [action] : [action, 'read', ...(also ? [also.name] : [])]
    const { command } = resource.routes.find(({ path }) => path === record.route) ?? {}
    const parts = [
      ...this.#partsAbout(resource).filter((part) => actions.some((one) => performing(part, one))),
      ...this.#partsOfCreates(command),
    ]
    if (subject === MASKED || roles.includes(MASKED)) return parts
    const caller =
      authentication === 'anonymous' ? undefined : { id: subject ?? '', roles, recordRoles: rolesLost, claims: {} }
    const { names } = this.#without(undefined, resource).policyAt(0).snapshot.subjectOf(caller)
    return parts.filter((part) => part.kind === 'field' || names.includes(part.of.subject))
  }

  /** Each object that a command creates is decided as its own POST. */
  #partsOfCreates(command: Command | undefined): readonly PolicyPart[] {
    if (!command || command.grantsSteps) return []
    const created = command.creates.flatMap((step) => this.#resources.byName.get(step.resource) ?? [])
    return [...new Set(created)].flatMap((resource) => {
      const { endpoint } = createRoute(resource)
      return this.#partsAbout(resource).filter((part) => performing(part, endpoint.action))
    })
  }

  #partsAbout(resource: Resource): readonly PolicyPart[] {
    return this.#about.getOrInsertComputed(resource.name, () => this.#parts.filter((part) => concerns(part, resource)))
  }

  #without(part: PolicyPart | undefined, resource: Resource): ReplayPolicy {
    const { policy, blocked } = this.#loaded
    const place = part === undefined ? -1 : this.#places.get(part)
    const policyAt = (time: number): ActivePolicy => {
      const key = `${place} ${resource.name} ${this.#equal.spanOf(time)}`
      const known = this.#policies.get(key)
      if (known) return known
      const snapshot = directPolicy(withoutPart(policy, part, resource), this.#resources, time)
      const revision = part === undefined ? this.#revision : (`without ${place}` as Revision)
      const made = { revision, snapshot, blocked }
      this.#policies.set(key, made)
      return made
    }
    return { resources: this.#resources, policyAt }
  }
}

const ASKED = 'another service asked about it, which is not decided again'
const BESIDE = 'a request may have read it beside its own objects, which is not decided again'

function never(): never {
  throw new Error('no policy decides a request without a resource')
}

function performing(part: PolicyPart, action: string): boolean {
  if (part.kind === 'field') return true
  if (part.kind === 'action') return part.name === action
  return performs(part.of, { name: action, hasFields: true })
}

/** Whether requests that it lets pass need it. The terms of a line, and denies, are needed by requests that they refuse. */
export function isOfGrant(part: PolicyPart): boolean {
  return part.kind === 'field' || (part.kind !== 'term' && part.of.effect === 'allow')
}
