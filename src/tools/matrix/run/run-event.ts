/**
 * Tries a cell about events on a target: the caller follows, something happens to the object, then something that the
 * caller must be told of happens to another one. What comes before that is all that the caller is told.
 */

import { answerFault, type GivenAnswer } from '../predict/compare-answer.ts'
import type { HttpAnswer } from '../target/http.ts'
import { CannotSetUp, type FollowedEvents, type HeardEvent, type TestTarget } from '../target/test-target.ts'
import type { CellOnTarget } from './bind.ts'
import { answered, exchangeOf, impossible, type TrialResult } from './result.ts'
import { type EventSetup, setUpEvent } from './set-up-event.ts'
import { explainCommand } from './why-wrong.ts'

/** A stream whose relations look at the time begins anew each minute: one `reset` that no cell states proves nothing. */
export async function tryEvent(cell: CellOnTarget): Promise<TrialResult> {
  const first = await tryOnce(cell)
  const isSurprise = first.isReset && cell.bound.expectation.expected.told !== 'reset'
  const { result } = isSurprise ? await tryOnce(cell) : first
  return result
}

interface Tried {
  readonly result: TrialResult
  readonly isReset: boolean
}

async function tryOnce(cell: CellOnTarget): Promise<Tried> {
  const { suite, target, bound } = cell
  const { method, expected } = bound.expectation
  const setup = await setUpEvent(cell)
  const request = { method, url: target.url + bound.route.path, token: setup.caller?.token }
  const where = { explain: explainCommand(suite, bound.expectation) }
  const opened = await target.ask(request, expected.status)
  if (opened.status !== 200 || expected.status !== 200) {
    const why = answerFault(expected, givenIn(cell, opened.status, undefined))
    return { result: answered(request, opened, why, where), isReset: false }
  }
  const heard = await listen(target, request, setup)
  const why = faultIn(cell, heard)
  const answer = heardAnswer(opened, heard)
  if (why === undefined && heard.missing !== undefined)
    return { result: impossible(heard.missing, [exchangeOf(request, answer)]), isReset: false }
  const isReset = heard.events.some(({ kind }) => kind === 'reset')
  return { result: answered(request, answer, why, where), isReset }
}

interface Heard {
  /** Of the object, between the beginning and the event that proves the end. */
  readonly events: readonly HeardEvent[]
  /** The object, as the target stored it last. */
  readonly object: Awaited<ReturnType<EventSetup['happen']>>
  /** Why nobody knows whether more events come. */
  readonly missing: string | undefined
}

async function listen(
  target: TestTarget,
  request: Parameters<TestTarget['follow']>[0],
  setup: EventSetup,
): Promise<Heard> {
  const mark = await setup.prepareMarker()
  const stream = await target.follow(request)
  try {
    if ((await stream.next())?.kind !== 'reset')
      throw new CannotSetUp('the stream of events did not begin with `reset`')
    const object = await setup.happen()
    const marker = await mark()
    return { object, ...(await heardUntil(stream, object.id, marker.id)) }
  } finally {
    stream.end()
  }
}

/** Events about objects of others don't count. */
async function heardUntil(stream: FollowedEvents, about: unknown, last: unknown): Promise<Omit<Heard, 'object'>> {
  const events: HeardEvent[] = []
  for (;;) {
    const event = await stream.next()
    if (!event) {
      const missing =
        'the caller was not told of another object that it may see, so nobody knows whether more events come'
      return { events, missing }
    }
    if (event.kind === 'reset') return { events: [...events, event], missing: undefined }
    if (event.data.id === last) return { events, missing: undefined }
    if (event.data.id === about) events.push(event)
  }
}

function faultIn(cell: CellOnTarget, heard: Heard): string | undefined {
  const { events } = heard
  if (events.length > 1) {
    const kinds = events.map(({ kind }) => `\`${kind}\``).join(', ')
    return `expected the caller to be told one event at most, but it was told ${events.length}: ${kinds}`
  }
  return answerFault(cell.bound.expectation.expected, givenIn(cell, 200, heard))
}

function givenIn({ suite, bound }: CellOnTarget, status: number, heard: Heard | undefined): GivenAnswer {
  const [event] = heard?.events ?? []
  return {
    status,
    method: bound.expectation.method,
    told: heard && (event?.kind ?? 'nothing'),
    rows: event && heard ? [{ shown: event.data, objects: [heard.object] }] : [],
    isList: false,
    views: suite.policy.views.get(bound.resource.name),
    placed: () => [],
    alone: true,
  }
}

/** The answer with the events that were heard of the object. */
function heardAnswer(answer: HttpAnswer, { events }: Heard): HttpAnswer {
  return {
    ...answer,
    text: events.map(({ kind, data }) => `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  }
}
