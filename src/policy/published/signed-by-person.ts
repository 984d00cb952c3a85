/**
 * What people of approvals.yaml sign: JWS (RFC 7515, compact, Ed25519). The type in the header says what it is, so that no
 * signature counts for anything else.
 */
import { createPublicKey, verify } from 'node:crypto'
import { isObject } from '../../base/is-object.ts'
import type { Approvals } from '../../decide/policy.ts'

/** Signs bytes with an Ed25519 key, which may be in an agent. */
export interface PersonSigner {
  readonly kid: string
  /** A command runs twice for one signature, and must make the same text. */
  readonly isElsewhere?: true
  /** When it was signed, in milliseconds since the epoch, if that was before. */
  readonly at?: number
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

export interface SignedBy<T> {
  /** The name of the person in approvals.yaml. */
  readonly by: string
  readonly kid: string
  readonly said: T
}

/** A key may sign other things as well: their signatures don't count here. */
const TYPES = {
  proposal: 'sallyport-proposal',
  approval: 'sallyport-approval',
  grant: 'sallyport-grant',
  'about a grant': 'sallyport-about-grant',
  'access review': 'sallyport-access-review',
} as const

export async function signAs(kind: keyof typeof TYPES, said: unknown, signer: PersonSigner): Promise<string> {
  const header = encoded({ alg: 'EdDSA', kid: signer.kid, typ: TYPES[kind] })
  const input = `${header}.${encoded(said)}`
  return `${input}.${Buffer.from(await signer.sign(Buffer.from(input))).toString('base64url')}`
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** The only form of a text with these parts: no second text may pass for the same signature. */
const COMPACT = /^(?<header>[\w-]+)\.(?<payload>[\w-]+)\.(?<signature>[\w-]{86})$/

/** Undefined unless a person has signed exactly this, as this kind. */
export function readSigned(
  kind: keyof typeof TYPES,
  signed: string,
  approvals: Approvals,
): SignedBy<unknown> | undefined {
  const { header = '', payload = '', signature = '' } = COMPACT.exec(signed)?.groups ?? {}
  // Some characters have bits that no byte needs: with other ones, the text stands for the same bytes.
  const isBent = (part: string) => Buffer.from(part, 'base64url').toString('base64url') !== part
  if ([header, payload, signature].some(isBent)) return undefined
  const named = parsed(header)
  if (!isObject(named) || named.typ !== TYPES[kind] || named.alg !== 'EdDSA') return undefined
  const owner = typeof named.kid === 'string' ? ownerOf(approvals, named.kid) : undefined
  if (!owner) return undefined
  const { by, key } = owner
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.x }, format: 'jwk' })
  const isTrue = verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, 'base64url'))
  return isTrue ? { by, kid: key.kid, said: parsed(payload) } : undefined
}

/** Whose key it is. */
export function ownerOf({ people }: Approvals, kid: string) {
  const [found] = [...people].flatMap(([by, { keys }]) => keys.flatMap((key) => (key.kid === kid ? { by, key } : [])))
  return found
}

/** What a signed text says, whoever signed it; undefined for another text. */
export function payloadOf(signed: string): unknown {
  return parsed(COMPACT.exec(signed)?.groups?.payload ?? '')
}

function parsed(part: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
  } catch {
    return undefined
  }
}

/**
 * As commands write it. Other forms have another meaning in another time zone, so instances would disagree. Years have
 * four digits: no sum of such a time and a duration is too late for a `Date`.
 */
export function isTime(value: unknown): boolean {
  const time = typeof value === 'string' && value.length === COMMON_TIME.length ? Date.parse(value) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString() === value
}

const COMMON_TIME = '2027-01-31T18:00:00.000Z'
