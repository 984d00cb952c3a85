/** What the server sends to sign must be what the person asked for: a key signs nothing else. */

interface Asked {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The thumbprint of the person's key. */
  readonly kid: string
}

interface Text {
  readonly typ: string
  readonly says?: string
  /** Members of the text by those of the question that they repeat; `''` counts as none. */
  readonly repeats?: Readonly<Record<string, string>>
  /** The title that the command makes of the question. */
  readonly isTitle?: (body: Asked['body'], title: string) => boolean
}

function saying(says: string): Text {
  return { typ: 'sallyport-approval', says, repeats: { reason: 'reason' } }
}

const TEXTS: Readonly<Record<string, Text>> = {
  propose: {
    typ: 'sallyport-proposal',
    repeats: { title: 'title', ticket: 'ticket', notBefore: 'notBefore' },
  },
  approve: saying('approved'),
  reject: saying('rejected'),
  withdraw: saying('withdrawn'),
  block: { typ: 'sallyport-proposal', isTitle: (body, title) => isTitleOfBlock('block', body, title) },
  unblock: { typ: 'sallyport-proposal', isTitle: (body, title) => isTitleOfBlock('unblock', body, title) },
  'review-access': {
    typ: 'sallyport-access-review',
    repeats: { report: 'digest', confirm: 'confirmed', revoke: 'revoked', reason: 'reason' },
  },
}

/** Undefined for a text that may be signed. */
export function whyNotToSign(toSign: string, { path, body, kid }: Asked): string | undefined {
  const [header, payload, ...more] = toSign.split('.').map(membersIn)
  if (!header || !payload || more.length > 0) return 'a text that is not one of a header and a payload'
  if (header.alg !== 'EdDSA' || header.kid !== kid) return 'a text for another key'
  const text = TEXTS[path.slice('/policy/v1/'.length)]
  if (!text || header.typ !== text.typ) return 'a text of another kind'
  if (text.says !== undefined && payload.says !== text.says) return `a text that does not say \`${text.says}\``
  const other = Object.entries(text.repeats ?? {}).find(
    ([asked, said]) => (body[asked] ?? '') !== (payload[said] ?? ''),
  )
  if (other) return `a text with another ${NAMES[other[0]] ?? other[0]}`
  return text.isTitle?.(body, String(payload.title)) === false ? 'a text with another title' : undefined
}

/** The id of a user who was named by an e-mail address is known to the server alone. */
function isTitleOfBlock(word: string, { user, reason }: Asked['body'], title: string): boolean {
  const end = reason ? `: ${reason}` : ''
  const named = String(user).trim()
  if (!named.includes('@')) return title === `${word} ${named}${end}`
  return title.startsWith(`${word} user:`) && title.endsWith(end)
}

/** Where the name of a member says less. */
const NAMES: Readonly<Record<string, string>> = {
  notBefore: 'beginning',
  confirm: 'list of what is confirmed',
  revoke: 'list of what is revoked',
}

/** Undefined unless it is an object in base64url. */
function membersIn(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
