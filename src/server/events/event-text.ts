/** The text of events in a stream (HTML, section 9.2), and their ids, which tell where a client goes on after a break. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SeenEvent } from './seen-changes.ts'

/** Why a client must read its list: it has begun, it may have missed an event, or it sees other objects than before. */
export const RESET_REASONS = ['start', 'missed', 'access'] as const

export type ResetReason = (typeof RESET_REASONS)[number]

/**
 * An id has the number of a change and a seal. The seal binds the number to what the caller saw then: so no client gets
 * what happened before it had its rights, and whose rights have changed meanwhile begins anew.
 */
export class EventIds {
  readonly #key: Uint8Array

  /** `key` has 32 bytes. */
  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** `group`: the same text for all who see the same. */
  idOf(group: string, number: number): string {
    return `${number}.${this.#seal(group, number)}`
  }

  /** The number of an id that this group was given; undefined for any other text. */
  numberOf(group: string, id: string): number | undefined {
    const parts = /^(?<digits>0|[1-9]\d{0,15})\.(?<seal>[\w-]{22})$/.exec(id)?.groups
    if (!parts) return undefined
    const number = Number(parts.digits)
    const [given, made] = [parts.seal ?? '', this.#seal(group, number)].map((text) => Buffer.from(text))
    return given && made && timingSafeEqual(given, made) ? number : undefined
  }

  #seal(group: string, number: number): string {
    return createHmac('sha256', this.#key).update(`${number} ${group}`).digest().subarray(0, 16).toString('base64url')
  }
}

/** JSON has no line end. The time of the write is a comment, which clients leave out. */
export function eventText(id: string, { kind, object, at }: SeenEvent): string {
  return `id: ${id}\nevent: ${kind}\n: ${at}\ndata: ${JSON.stringify(object)}\n\n`
}

export function resetText(id: string, reason: ResetReason): string {
  return `id: ${id}\nevent: reset\ndata: {"reason":"${reason}"}\n\n`
}

/** No event, but the client remembers the id; and nobody takes the connection for a dead one. */
export function markText(id: string): string {
  return `id: ${id}\n\n`
}
