/** Which RSA keys are too weak to trust. OpenSSL and WebCrypto import them all (test/identity/public-key.test.ts). */

/** RFC 7518 section 3.3. */
export const MIN_RSA_BITS = 2048

/** As node:crypto (bigint) and WebCrypto (big-endian bytes) describe a key; without a modulus it isn't RSA. */
export interface KeyDetails {
  readonly modulusLength?: number | undefined
  readonly publicExponent?: bigint | Uint8Array | undefined
}

/** Under 2048 bits, or with an exponent that is 1 (every signature is its own message), even or missing. */
export function isWeakRsa({ modulusLength, publicExponent = 0n }: KeyDetails): boolean {
  if (modulusLength === undefined) return false
  const exponent = typeof publicExponent === 'bigint' ? publicExponent : numberOf(publicExponent)
  return modulusLength < MIN_RSA_BITS || exponent < 3n || exponent % 2n === 0n
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
}
