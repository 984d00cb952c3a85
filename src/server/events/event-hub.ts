/**
 * Reads the log of changes once for all streams of this process, and tells each what its caller sees of them. Streams
 * whose callers have the same rights are a group, which is decided once. Nothing happens while nobody follows.
 *
 * What a caller may see can change without a change of the objects: so each stream is looked at again within a second,
 * and whoever has other rights then, or is related to other objects, is told to read its list again (`reset`).
 */
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { Queues } from '../../base/queues.ts'
import { UnderWay } from '../../base/under-way.ts'
import type { WatchDecision } from '../../decide/decision.ts'
import { Refused } from '../../decide/refusal.ts'
import type { Comparison } from '../../resources/routing/query.ts'
import type { ObjectChange, ObjectChanges } from '../../store/changes.ts'
import type { Store } from '../../store/contract.ts'
import { problemOf } from '../answers/to-problem.ts'
import { SLICE_MS, tooManyUnderWay } from '../slices.ts'
import { EventStream, type StreamEnd } from './event-stream.ts'
import { EventIds, markText, type ResetReason, resetText } from './event-text.ts'
import { type AskStored, SeenChange } from './seen-changes.ts'
import { type FollowedRequest, Standing, type StandingEnd, type StandingParts } from './standing.ts'
import { type EventPiece, GroupTexts, isBehind, isTouched, type StreamGroup, streamGroupOf } from './stream-group.ts'

export interface HubParts extends StandingParts {
  readonly gate: StandingParts['gate'] & { readonly store: Pick<Store, 'inOneReadTransaction'> }
  readonly changes: ObjectChanges
  /** 32 bytes, the same for every instance. */
  readonly key: Uint8Array
  /** Told of each stream that has ended. */
  readonly ended: (asked: FollowedRequest, end: StreamEnd) => void
  /** Told of an error that nobody else is told of. */
  readonly failed: (error: unknown) => void
}

/** Who opens a stream. */
export interface Follower extends FollowedRequest {
  readonly filter: readonly Comparison[]
  /** As the client sent it. */
  readonly lastEventId: string | undefined
}

interface ToSend {
  readonly stream: EventStream
  readonly group: StreamGroup
  readonly pieces: readonly EventPiece[]
}

const MOST_STREAMS = { ofCaller: 100, ofAll: 20_000 }

/** Changes that are read at once. */
const PAGE = 256
/** A client that missed more reads its list again, which is less work. */
const MOST_MISSED = 20_000

/** Milliseconds in which commits are read together. */
const TOGETHER_MS = 20
const RETRY_MS = 1000
const LOOK_AGAIN_MS = 600
const MARK_MS = 15_000
/** Streams end after an hour, or a few minutes less, so that they don't all begin again together. */
const LONGEST_MS = 3_600_000

export class EventHub {
  readonly #parts: HubParts
  readonly #ids: EventIds
  readonly #underWay = new UnderWay(MOST_STREAMS, () => tooManyUnderWay('streams of events'))
  readonly #streams = new Set<EventStream>()
  /** By name: streams of the same name have the same group. */
  readonly #groups = new Map<string, StreamGroup>()
  /** Reading, and whatever moves a stream to another group, happen one after the other. */
  readonly #turns = new Queues()
  /** All changes up to this one have been told. */
  #position = 0
  #stopListening: (() => void) | undefined
  #timers: readonly NodeJS.Timeout[] = []
  #willRead = false
  #isLooking = false
  #isClosed = false

  constructor(parts: HubParts) {
    this.#parts = parts
    this.#ids = new EventIds(parts.key)
  }

  /** Counts a stream until the returned function is called. Throws Problem quota-exceeded. */
  enter(whose: string): () => void {
    return this.#underWay.enter(whose)
  }

  /** Sends events until the client is gone, its rights have ended, or the hub is closed. `response`: its head is written. */
  async follow(response: ServerResponse, { filter, lastEventId, ...asked }: Follower): Promise<void> {
    const group = this.#groupOf(asked.decision, filter)
    const ended = (end: StreamEnd) => this.#parts.ended(asked, end)
    const stream = new EventStream(response, new Standing(this.#parts, asked), group, ended)
    try {
      const told = lastEventId === undefined ? undefined : await this.#catchUp(stream, lastEventId)
      await this.#inTurn(() => this.#join(stream, told, lastEventId === undefined ? 'start' : 'missed'))
      // The rights may have changed since they were decided.
      await this.#lookAgain([stream], 'perhaps others')
    } catch (error) {
      this.#parts.failed(error)
      stream.cutOff('failed')
    }
  }

  /** All streams end, and their clients may go on elsewhere. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.#streams) stream.end('stop')
    this.#stop()
  }

  #groupOf(decision: WatchDecision, filter: readonly Comparison[]): StreamGroup {
    const group = streamGroupOf(decision, filter)
    return this.#groups.getOrInsert(group.name, group)
  }

  /** `told`: up to where the stream was told what it missed; undefined if it must begin anew. */
  async #join(stream: EventStream, told: number | undefined, reason: ResetReason): Promise<void> {
    if (this.#isClosed) stream.end('stop')
    if (!stream.isOpen) return
    if (this.#streams.size === 0) await this.#start()
    // All streams are at one place in the log.
    else await this.#read()
    const isWhole = told !== undefined && (await this.#tellMissed(stream, told, this.#position))
    if (!isWhole) this.#reset(stream, reason)
    this.#streams.add(stream)
    const longest = setTimeout(() => stream.end('hour'), LONGEST_MS * (1 - Math.random() / 10)).unref()
    const leave = () => {
      clearTimeout(longest)
      this.#streams.delete(stream)
      if (this.#streams.size === 0) this.#stop()
    }
    if (stream.response.closed) leave()
    else stream.response.once('close', leave)
  }

  async #start(): Promise<void> {
    this.#position = await this.#parts.changes.last()
    this.#stopListening ??= this.#parts.changes.onChange(() => this.#readSoon())
    if (this.#timers.length > 0) return
    this.#timers = [
      setInterval(() => this.#lookAtAll().catch(this.#parts.failed), LOOK_AGAIN_MS).unref(),
      setInterval(() => void this.#inTurn(() => this.#mark()), MARK_MS).unref(),
    ]
  }

  #stop(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
    this.#groups.clear()
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    await this.#turns.run('', work)
  }

  #readSoon(milliseconds = TOGETHER_MS): void {
    if (this.#willRead) return
    this.#willRead = true
    setTimeout(() => {
      this.#willRead = false
      this.#inTurn(() => this.#read()).catch((error: unknown) => {
        this.#parts.failed(error)
        // Nothing else may tell of the changes that couldn't be read.
        if (this.#streams.size > 0) this.#readSoon(RETRY_MS)
      })
    }, milliseconds).unref()
  }

  /** Tells all streams what has happened. */
  async #read(): Promise<void> {
    for (;;) {
      const { changes, since } = await this.#parts.changes.after(this.#position, PAGE)
      const behind = new Set([...this.#groups.values()].filter((group) => isBehind(group, since, this.#position)))
      if (changes.length === 0 && behind.size > 0)
        await this.#tell([], Math.max(this.#position, ...since.values()), behind)
      for (const part of inParts(changes)) {
        await this.#tell(part, part.at(-1)?.number ?? this.#position, behind)
        behind.clear()
        // Clients take what they were sent meanwhile: a burst alone cuts off nobody who reads.
        await setImmediate()
      }
      // A read of large changes has fewer than it may have.
      if (changes.length === 0) return
    }
  }

  async #tell(changes: readonly ObjectChange[], last: number, behind: ReadonlySet<StreamGroup>): Promise<void> {
    if (changes.length === 0 && behind.size === 0) return
    const ask = this.#askOnce()
    const anew = new Set<EventStream>()
    for (const stream of this.#streams) {
      const { group, callerId } = stream
      const isResting = group.restsOn.size > 0 && changes.some(({ resource }) => group.restsOn.has(resource))
      if (behind.has(group) || (isResting && (await isTouched(group, callerId, changes, ask)))) anew.add(stream)
    }
    const all = await this.#allToSend(this.#streams.difference(anew), changes, ask)
    this.#position = last
    const why = ({ group }: EventStream) => (behind.has(group) ? 'missed' : 'access')
    await inSlices(together([...anew]), (some) => this.#renew(some, why))
    await inSlices(all, ({ stream, group, pieces }) => {
      // A stream that has moved to another group by now reads its list again.
      if (stream.group === group) for (const piece of pieces) stream.tell(piece)
    })
  }

  async #allToSend(
    streams: ReadonlySet<EventStream>,
    changes: readonly ObjectChange[],
    ask: AskStored,
  ): Promise<readonly ToSend[]> {
    const all: ToSend[] = []
    for (const [group, members] of Map.groupBy(streams, (stream) => stream.group)) {
      const texts = this.#textsFor(group, changes, ask)
      const { callers } = texts
      const shared = callers === 'all' ? [] : await texts.of(undefined)
      for (const stream of members) {
        const isOther = callers === 'all' || callers.has(stream.callerId)
        const pieces = isOther ? await texts.of(stream.callerId) : shared
        if (pieces.length > 0) all.push({ stream, group, pieces })
      }
    }
    return all
  }

  #textsFor(group: StreamGroup, changes: readonly ObjectChange[], ask: AskStored): GroupTexts {
    const own = changes.filter(({ resource }) => resource === group.resource)
    return new GroupTexts(
      group,
      own.map((change) => new SeenChange(change, group, ask)),
      this.#ids,
    )
  }

  /** Tells a stream that isn't with the others yet. */
  async #catchUp(stream: EventStream, lastEventId: string): Promise<number | undefined> {
    const number = this.#ids.numberOf(stream.group.name, lastEventId)
    if (number === undefined) return undefined
    const last = await this.#parts.changes.last()
    // A number that is not given yet is of a database that has lost its last writes.
    if (last < number || last - number > MOST_MISSED) return undefined
    return (await this.#tellMissed(stream, number, last)) ? last : undefined
  }

  /** Tells a stream the changes after a number, up to the last one; false if it must begin anew. */
  async #tellMissed(stream: EventStream, after: number, last: number): Promise<boolean> {
    const { group, callerId } = stream
    for (let told = after; stream.isOpen; ) {
      const { changes: read, since } = await this.#parts.changes.after(told, PAGE)
      // The stream is told later ones with all others.
      const changes = read.filter(({ number }) => number <= last)
      const ask = this.#askOnce()
      if (isBehind(group, since, told) || (await isTouched(group, callerId, changes, ask))) return false
      for (const piece of await this.#textsFor(group, changes, ask).of(callerId)) stream.tell(piece)
      await stream.taken()
      told = changes.at(-1)?.number ?? last
      if (told >= last) return true
    }
    return false
  }

  /** Within a second, whoever may no longer follow is told so. */
  async #lookAtAll(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      // Streams of one caller ask the same.
      const all = [...Map.groupBy(this.#streams, ({ callerId }) => callerId).values()].flat()
      await this.#lookAgain(all, 'the same')
    } finally {
      this.#isLooking = false
    }
  }

  async #lookAgain(streams: readonly EventStream[], facts: 'the same' | 'perhaps others'): Promise<void> {
    await inSlices(together(streams), async (some) => {
      const decided = await this.#decisionsNow(some, facts)
      const others = decided.flatMap(([stream, decision]) => {
        const isSame = decision.kind === 'watch' && this.#groupOf(decision, stream.group.filter) === stream.group
        return isSame ? [] : [stream]
      })
      if (others.length > 0) await this.#inTurn(() => this.#renew(others, () => undefined))
    })
  }

  /**
   * Decides streams again: without the right they end, with other rights they begin anew. `reason`: why one begins anew
   * in any case.
   */
  async #renew(
    streams: readonly EventStream[],
    reason: (stream: EventStream) => ResetReason | undefined,
  ): Promise<void> {
    for (const [stream, decision] of await this.#decisionsNow(streams, 'perhaps others')) {
      if (decision.kind === 'ended') {
        this.#reset(stream, 'access')
        stream.end(decision)
        continue
      }
      const why = reason(stream)
      const group = this.#groupOf(decision, stream.group.filter)
      const isOther = group !== stream.group
      stream.group = group
      if (isOther || why) this.#reset(stream, why ?? 'access')
    }
  }

  /** Of those that are open. Together they ask the database once. Where nobody can tell, a caller may not go on. */
  async #decisionsNow(
    streams: readonly EventStream[],
    facts: 'the same' | 'perhaps others',
  ): Promise<readonly (readonly [EventStream, WatchDecision | StandingEnd])[]> {
    const open = streams.filter(({ isOpen }) => isOpen)
    const unknown = ({ standing }: EventStream, error: unknown): StandingEnd => {
      if (!(error instanceof Refused)) this.#parts.failed(error)
      return { kind: 'ended', problem: problemOf(error, standing.caller).code }
    }
    const decide = async (stream: EventStream) => {
      const decision = await stream.standing.again(facts).catch((error: unknown) => unknown(stream, error))
      return [stream, decision] as const
    }
    try {
      return await this.#parts.gate.store.inOneReadTransaction(() => Promise.all(open.map(decide)))
    } catch (error) {
      return open.map((stream) => [stream, unknown(stream, error)] as const)
    }
  }

  #reset(stream: EventStream, reason: ResetReason): void {
    stream.send(resetText(this.#ids.idOf(stream.group.name, this.#position), reason))
  }

  /** Clients that see little learn how far they are, so that they miss little when they come back. */
  async #mark(): Promise<void> {
    const groups = Map.groupBy(this.#streams, ({ group }) => group)
    for (const name of this.#groups.keys()) this.#groups.delete(name)
    for (const [group, streams] of groups) {
      this.#groups.set(group.name, group)
      const mark = Buffer.from(markText(this.#ids.idOf(group.name, this.#position)))
      await inSlices(streams, (stream) => stream.send(mark))
    }
  }

  /** Each lookup once for changes that are told together. */
  #askOnce(): AskStored {
    const known = new Map<string, boolean | Promise<boolean>>()
    const { store } = this.#parts.gate
    return (lookup) => known.getOrInsertComputed(JSON.stringify(lookup), () => store.lookup(lookup))
  }
}

/** In characters, roughly: what is told at once. */
const PART = 256 * 1024

function inParts(changes: readonly ObjectChange[]): readonly (readonly ObjectChange[])[] {
  const parts: ObjectChange[][] = []
  let size = PART
  for (const change of changes) {
    if (size >= PART) {
      parts.push([])
      size = 0
    }
    parts.at(-1)?.push(change)
    size += JSON.stringify(change.after ?? null).length
  }
  return parts
}

/** Streams that are looked at together. */
const TOGETHER = 100

function* together(streams: readonly EventStream[]): Generator<readonly EventStream[]> {
  for (let at = 0; at < streams.length; at += TOGETHER) yield streams.slice(at, at + TOGETHER)
}

/** Other requests are answered meanwhile. */
async function inSlices<T>(items: Iterable<T>, work: (item: T) => void | Promise<void>): Promise<void> {
  let begun = performance.now()
  for (const item of items) {
    const done = work(item)
    if (done) await done
    if (performance.now() - begun < SLICE_MS) continue
    await setImmediate()
    begun = performance.now()
  }
}
