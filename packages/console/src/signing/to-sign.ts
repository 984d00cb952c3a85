/** What the server sends to sign must be what the person asked for: a key signs nothing else. */

import { digestOf } from '../parts/digest.ts'

type Members = Readonly<Record<string, unknown>>

interface Asked {
  readonly path: string
  readonly body: Members
  /** The thumbprint of the person's key. */
  readonly kid: string
}

interface Text {
  readonly typ: string
  readonly says?: string
  /** Members of the text, by those of the question that they repeat; an empty one counts as none. */
  readonly repeats?: Members
  /** What else differs: the end of `a text with another …`. */
  readonly differs?: (body: Members, payload: Members) => string | false
}

function approval(says: string): Text {
  return { typ: 'sallyport-approval', says, repeats: { reason: 'reason' } }
}

function aboutGrant(says: string, asked: 'reason' | 'finding'): Text {
  return { typ: 'sallyport-about-grant', says, repeats: { [asked]: 'text' } }
}

function block(word: string): Text {
  const differs = (body: Members, { title }: Members) => !isTitleOfBlock(word, body, String(title)) && 'title'
  return { typ: 'sallyport-proposal', differs }
}

const TEXTS: Readonly<Record<string, Text>> = {
  propose: {
    typ: 'sallyport-proposal',
    repeats: { title: 'title', ticket: 'ticket', notBefore: 'notBefore' },
    differs: (body, { time, notBefore = time, expires }) => !lasts(body.expires ?? '7d', notBefore, expires) && 'end',
  },
  approve: approval('approved'),
  reject: approval('rejected'),
  withdraw: approval('withdrawn'),
  block: block('block'),
  unblock: block('unblock'),
  'review-access': {
    typ: 'sallyport-access-review',
    repeats: { report: 'digest', confirm: 'confirmed', revoke: 'revoked', reason: 'reason' },
  },
  'break-glass': {
    typ: 'sallyport-grant',
    repeats: { role: 'role', reason: 'reason' },
    differs: (body, { kind, to, time, until }) =>
      (kind !== 'break-glass' && 'kind of role') ||
      (body.to !== `user:${to}` && 'person') ||
      (!lasts(body.for, time, until) && 'end'),
  },
  'review-glass': aboutGrant('reviewed', 'finding'),
  'approve-grant': aboutGrant('approved', 'reason'),
  'revoke-grant': aboutGrant('revoked', 'reason'),
}

/** Undefined for a text that may be signed. */
export async function whyNotToSign(toSign: string, { path, body, kid }: Asked): Promise<string | undefined> {
  const [header, payload, ...more] = toSign.split('.').map(membersIn)
  if (!header || !payload || more.length > 0) return 'a text that is not one of a header and a payload'
  if (header.alg !== 'EdDSA' || header.kid !== kid) return 'a text for another key'
  const { typ, says, repeats = {}, differs } = TEXTS[path.slice('/policy/v1/'.length)] ?? {}
  if (typ === undefined || header.typ !== typ) return 'a text of another kind'
  if (says !== undefined && payload.says !== says) return `a text that does not say \`${says}\``
  const other = Object.entries(repeats).find(([asked, said]) => (body[asked] ?? '') !== (payload[String(said)] ?? ''))
  const isNow = Math.abs(Date.parse(String(payload.time)) - Date.now()) <= MOST_APART_MS
  if (!isNow) return 'a text with another time than that of this computer'
  const name = other ? (NAMES[other[0]] ?? other[0]) : differs?.(body, payload) || (await otherFile(body, payload))
  return name ? `a text with another ${name}` : undefined
}

/** As long as a text may wait for its signature. */
const MOST_APART_MS = 1_800_000

/** A proposal names the digest of each file. Whoever is blocked meanwhile is added by the server. */
async function otherFile({ files }: Members, payload: Members): Promise<string | undefined> {
  const digests: Members = { ...(payload.files as Members | undefined) }
  for (const [name, text] of Object.entries({ ...(files as Readonly<Record<string, string | null>> | undefined) })) {
    if (name === 'blocked.txt') continue
    const digest = text === null ? undefined : await digestOf(text)
    if (digests[name] !== digest) return name
  }
  return undefined
}

/** Where the name of a member says less. */
const NAMES: Readonly<Record<string, string>> = {
  notBefore: 'beginning',
  confirm: 'list of what is confirmed',
  revoke: 'list of what is revoked',
}

/** The id of a user who was named by an e-mail address is known to the server alone. */
function isTitleOfBlock(word: string, { user, reason }: Members, title: string): boolean {
  const end = reason ? `: ${reason}` : ''
  const named = String(user).trim()
  if (!named.includes('@')) return title === `${word} ${named}${end}`
  return title.startsWith(`${word} user:`) && title.endsWith(end)
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Whether it is so long from one time to the other, as commands read `4h`. */
function lasts(duration: unknown, from: unknown, to: unknown): boolean {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(String(duration)) ?? []
  return Date.parse(String(to)) - Date.parse(String(from)) === Number(count) * (UNITS[unit] ?? Number.NaN)
}

/** Undefined unless it is an object in base64url. */
function membersIn(part: string): Members | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
