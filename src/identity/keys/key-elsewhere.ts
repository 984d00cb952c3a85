/**
 * A private key that is somewhere else: in a browser, or on another machine. A command ends with what the key must sign,
 * and is run again with the signed text, as if the key were here.
 */
import { isObject } from '../../base/is-object.ts'
import type { PersonSigner } from '../../policy/published/signed-by-person.ts'
import { KeyError } from './key-error.ts'

const TO_SIGN = 'to-sign:'
const SIGNED = 'signed:'

/** Not a fault: the command goes on when somebody has signed this text (ASCII). */
export class ToSign extends Error {
  readonly text: string

  constructor(text: string) {
    super('this must be signed')
    this.name = 'ToSign'
    this.text = text
  }
}

/** Undefined for a key that is here. Throws KeyError. */
export function signerElsewhere(named: string): PersonSigner | undefined {
  if (named.startsWith(TO_SIGN)) {
    const kid = named.slice(TO_SIGN.length)
    const sign = (bytes: Uint8Array) => Promise.reject(new ToSign(Buffer.from(bytes).toString('latin1')))
    if (/^[\w-]{43}$/.test(kid)) return { kid, isElsewhere: true, sign }
    throw new KeyError(`--key ${TO_SIGN} needs the thumbprint of the public key (RFC 7638), 43 characters`)
  }
  return named.startsWith(SIGNED) ? signedBefore(named.slice(SIGNED.length)) : undefined
}

/** Gives the signature of a compact JWS (RFC 7515) for its text, and for no other. */
function signedBefore(signed: string): PersonSigner {
  const end = signed.lastIndexOf('.')
  const input = signed.slice(0, end)
  const [header = '', payload = ''] = input.split('.')
  const kid = memberOf(header, 'kid')
  const time = Date.parse(String(memberOf(payload, 'time')))
  if (typeof kid !== 'string' || Number.isNaN(time)) {
    throw new KeyError(`--key ${SIGNED} needs the text that was to be signed, a point, and the signature in base64url`)
  }
  return {
    kid,
    isElsewhere: true,
    at: time,
    sign: async (bytes) => {
      if (Buffer.from(bytes).toString('latin1') === input) return Buffer.from(signed.slice(end + 1), 'base64url')
      throw new KeyError(
        'the signature is for another text, because the policy or what was asked has changed: sign it again',
      )
    },
  }
}

function memberOf(part: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return isObject(value) ? value[name] : undefined
  } catch {
    return undefined
  }
}
