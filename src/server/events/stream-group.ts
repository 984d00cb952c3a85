/** The streams that see the same, but for the relations that look at the ids of their callers: they are decided once. */
import { hash } from 'node:crypto'
import type { WatchDecision } from '../../decide/decision.ts'
import { USERS } from '../../decide/policy.ts'
import type { Comparison } from '../../resources/routing/query.ts'
import type { ObjectChange } from '../../store/changes.ts'
import { type EventIds, eventText } from './event-text.ts'
import { resourcesLookedAt, touches } from './facts-touched.ts'
import { type AskStored, type SeenBy, SeenChange, type SeenEvent } from './seen-changes.ts'

export interface StreamGroup extends SeenBy {
  /** The same on any instance. */
  readonly name: string
  readonly resource: string
  /** What is seen rests on objects of these resources too: callers are related to them, or they have its attributes. */
  readonly restsOn: ReadonlySet<string>
}

export function streamGroupOf({ sight }: WatchDecision, filter: readonly Comparison[]): StreamGroup {
  const steps = sight
    .stepConditions('')
    .flatMap((step) => (step ? [step.resource, ...resourcesLookedAt(step.where)] : []))
  return {
    name: hash('sha256', JSON.stringify([sight.meaning, filter]), 'base64url'),
    resource: sight.grants.watch.resource.name,
    sight,
    filter,
    restsOn: new Set(sight.comparesAttributes ? [...steps, USERS] : steps),
  }
}

/** Whether changes may be missing after this number. `since`: see ObjectChanges. */
export function isBehind(
  { resource, restsOn }: StreamGroup,
  since: ReadonlyMap<string, number>,
  number: number,
): boolean {
  return [resource, ...restsOn].some((name) => (since.get(name) ?? Number.POSITIVE_INFINITY) > number)
}

/** Whether a caller of the group may have another record, or be related to other objects, after these changes. */
export async function isTouched(
  { restsOn, sight }: StreamGroup,
  caller: string | undefined,
  changes: readonly ObjectChange[],
  ask: AskStored,
): Promise<boolean> {
  const resting = restsOn.size === 0 ? [] : changes.filter(({ resource }) => restsOn.has(resource))
  if (resting.length === 0) return false
  if (sight.comparesAttributes && resting.some(({ resource, id }) => resource === USERS && id === caller)) return true
  for (const step of sight.stepConditions(caller)) {
    for (const change of step ? resting : []) if (step && (await touches(step, change, ask))) return true
  }
  return false
}

/** What one caller is told of one change: `reset` where it may see other objects since. */
export async function toldOf(
  decision: WatchDecision,
  caller: string | undefined,
  change: ObjectChange,
  ask: AskStored,
): Promise<SeenEvent | 'reset' | undefined> {
  const group = streamGroupOf(decision, [])
  if (await isTouched(group, caller, [change], ask)) return 'reset'
  return change.resource === group.resource ? new SeenChange(change, group, ask).eventFor(caller) : undefined
}

/** In characters: what is sent to a stream at once is not much longer. */
const PIECE = 256 * 1024

/** Of the text of a stream. */
export interface EventPiece {
  readonly bytes: Buffer
  readonly events: number
}

/** The texts of some changes for the callers of a group. */
export class GroupTexts {
  readonly #group: StreamGroup
  readonly #changes: readonly SeenChange[]
  readonly #ids: EventIds
  readonly #texts = new Map<SeenEvent, string>()
  readonly #pieces = new Map<string | undefined, Promise<readonly EventPiece[]>>()

  /** Changes of the group's resource. */
  constructor(group: StreamGroup, changes: readonly SeenChange[], ids: EventIds) {
    this.#group = group
    this.#changes = changes
    this.#ids = ids
  }

  /** The callers who may see something else than a stranger does; `all`: each may. */
  get callers(): ReadonlySet<unknown> | 'all' {
    const found = new Set<unknown>()
    for (const { callers } of this.#changes) {
      if (callers === 'all') return 'all'
      for (const caller of callers) found.add(caller)
    }
    return found
  }

  /** In pieces; `undefined` is a stranger. A caller may have several streams. */
  of(caller: string | undefined): Promise<readonly EventPiece[]> {
    return this.#pieces.getOrInsertComputed(caller, () => this.#make(caller))
  }

  async #make(caller: string | undefined): Promise<readonly EventPiece[]> {
    const pieces: EventPiece[] = []
    let texts: string[] = []
    let size = 0
    const cut = () => {
      if (texts.length > 0) pieces.push({ bytes: Buffer.from(texts.join('')), events: texts.length })
      texts = []
      size = 0
    }
    for (const change of this.#changes) {
      const seen = change.eventFor(caller)
      const event = seen instanceof Promise ? await seen : seen
      if (!event) continue
      const text = this.#textOf(change, event)
      texts.push(text)
      size += text.length
      if (size >= PIECE) cut()
    }
    cut()
    return pieces
  }

  #textOf({ number }: SeenChange, event: SeenEvent): string {
    return this.#texts.getOrInsertComputed(event, () => eventText(this.#ids.idOf(this.#group.name, number), event))
  }
}
