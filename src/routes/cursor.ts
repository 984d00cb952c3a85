/**
 * Where a page of a list ended, sealed (AES-256-GCM) so that a client can neither read nor change it, and bound to the
 * query and the caller. It survives a new token and a new policy, because neither is part of it.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Problem } from '../problems/problem.ts'

const IV_BYTES = 12
const TAG_BYTES = 16

/** Asked of the generator at once. */
const IVS = 256

/** `binding` names the query and the caller; `key` has 32 bytes. */
export function sealCursor(key: Uint8Array, binding: string, place: string): string {
  const iv = freshIv()
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(binding))
  const sealed = [cipher.update(place, 'utf8'), cipher.final()]
  return Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64url')
}

let random = Buffer.alloc(0)

/** Bytes that no other cursor has. The call to the generator costs more than what it gives, so it gives for many. */
function freshIv(): Buffer {
  if (random.length === 0) random = randomBytes(IV_BYTES * IVS)
  const iv = random.subarray(0, IV_BYTES)
  random = random.subarray(IV_BYTES)
  return iv
}

/** What was sealed. Throws Problem invalid-query for any other text. */
export function openCursor(key: Uint8Array, binding: string, cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  try {
    if (bytes.toString('base64url') !== cursor) throw new Error('not the canonical encoding')
    const iv = bytes.subarray(0, IV_BYTES)
    const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(binding)).setAuthTag(tag)
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch (cause) {
    const detail =
      'The cursor is not one that this list, so filtered and sorted, gave to this caller; begin again without it.'
    throw new Problem('invalid-query', detail, { cause })
  }
}

/** For a cursor that leans on an object which is gone. */
export function lostPlace(): Problem {
  return new Problem('invalid-query', 'The place of the cursor is gone; begin again without it.')
}
