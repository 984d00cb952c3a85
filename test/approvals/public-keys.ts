/** Keys of people in the forms in which approvals.yaml takes them. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** A public key, as a line of OpenSSH, as PEM and as JWK. */
export interface PublicForms {
  readonly line: string
  readonly pem: string
  readonly jwk: string
}

export function newKey(): PublicForms & { readonly privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { ...formsOf(publicKey), privateKey }
}

/** `x`: the 32 bytes of the key. */
export function formsOfBytes(x: Uint8Array): PublicForms {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(x).toString('base64url') }
  return formsOf(createPublicKey({ key: jwk, format: 'jwk' }))
}

function formsOf(key: KeyObject): PublicForms {
  const jwk = key.export({ format: 'jwk' })
  return {
    line: `ssh-ed25519 ${sshBlob('ssh-ed25519', Buffer.from(jwk.x ?? '', 'base64url')).toString('base64')}`,
    pem: key.export({ format: 'pem', type: 'spki' }).toString(),
    jwk: JSON.stringify(jwk),
  }
}

/** RFC 4251 section 5: strings, each behind its length in four bytes. */
export function sshBlob(...parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(Buffer.from(part).length)
      return [length, Buffer.from(part)]
    }),
  )
}
