/**
 * The end of a page of a list, encrypted (AES-256-GCM) so that a client can neither read nor change it, and bound to
 * the query and the caller. It stays valid with a new token or a new policy, because it contains neither.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Problem } from '../../base/problems/problem.ts'

const IV_BYTES = 12
const TAG_BYTES = 16

/** How many cursors are kept: a client that asks for a page again gets the same cursor. */
const KEPT = 1000

export class Cursors {
  readonly #key: Uint8Array
  readonly #sealed = new LRUCache<string, string>({ max: KEPT })

  /** `key` has 32 bytes. */
  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** `binding` names the query and the caller. */
  seal(binding: string, pageEnd: string): string {
    const known = hash('sha256', JSON.stringify([binding, pageEnd]), 'base64url')
    const kept = this.#sealed.get(known)
    if (kept !== undefined) return kept
    const sealed = this.#seal(binding, pageEnd)
    this.#sealed.set(known, sealed)
    return sealed
  }

  /** The sealed text. Throws Problem invalid-query for any other cursor. */
  open(binding: string, cursor: string): string {
    const bytes = Buffer.from(cursor, 'base64url')
    try {
      if (bytes.toString('base64url') !== cursor) throw new Error('not the canonical encoding')
      const iv = bytes.subarray(0, IV_BYTES)
      const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', this.#key, iv, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(binding)).setAuthTag(tag)
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    } catch (cause) {
      const detail =
        'The cursor does not belong to this caller and to this list with its filters and order; begin again without it.'
      throw new Problem('invalid-query', detail, { cause })
    }
  }

  #seal(binding: string, pageEnd: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(binding))
    const sealed = [cipher.update(pageEnd, 'utf8'), cipher.final()]
    return Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64url')
  }
}

/** For a cursor that refers to a deleted object. */
export function lostPageEnd(): Problem {
  return new Problem('invalid-query', 'The object at the cursor was deleted; begin again without the cursor.')
}
