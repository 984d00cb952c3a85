/**
 * Cuts members out of the texts of documents without parsing them. A document is in the form of JSON.stringify; any
 * other text is first converted to that form.
 */

interface CutMember {
  /** The name as it stands in the text, with the colon: `"title":`. */
  readonly opening: string
  readonly isShown: boolean
}

/** For the fields that a list shows. Their names need no escape in JSON. */
export class MemberCutter {
  readonly fields: Pick<ReadonlySet<string>, 'has'>
  readonly id: boolean
  readonly createdAt: boolean
  readonly updatedAt: boolean
  /** Of the last documents, by place: most documents of a resource have the same members in the same order. */
  readonly #members: CutMember[] = []

  constructor(fields: Pick<ReadonlySet<string>, 'has'>) {
    this.fields = fields
    this.id = fields.has('id')
    this.createdAt = fields.has('createdAt')
    this.updatedAt = fields.has('updatedAt')
  }

  /** The shown members, with commas between them. Throws SyntaxError for a text that isn't a JSON object. */
  cut(text: string): string {
    const cut = this.#cutWritten(text) ?? this.#cutWritten(JSON.stringify(JSON.parse(text)))
    if (cut === undefined) throw new SyntaxError('not a JSON object')
    return cut
  }

  /** Undefined if the text isn't an object in the form of JSON.stringify. */
  #cutWritten(text: string): string | undefined {
    if (text === '{}') return ''
    if (text.charCodeAt(0) !== OPEN_OBJECT) return undefined
    let cut = ''
    let at = 0
    let place = 0
    do {
      const member = this.#memberAt(text, at + 1, place)
      const end = member ? endOfValue(text, at + 1 + member.opening.length) : NOWHERE
      if (!member || end === NOWHERE) return undefined
      // Each member is cut with the comma before its name; the first one without.
      if (member.isShown) cut += text.slice(cut === '' ? at + 1 : at, end)
      at = end
      place += 1
    } while (text.charCodeAt(at) === COMMA)
    return text.charCodeAt(at) === CLOSE_OBJECT && at === text.length - 1 ? cut : undefined
  }

  /** Undefined if no name begins there. */
  #memberAt(text: string, at: number, place: number): CutMember | undefined {
    const known = this.#members[place]
    if (known && text.startsWith(known.opening, at)) return known
    const end = endOfText(text, at)
    if (end === NOWHERE || text.charCodeAt(end) !== COLON) return undefined
    const member = { opening: text.slice(at, end + 1), isShown: this.fields.has(text.slice(at + 1, end - 1)) }
    this.#members[place] = member
    return member
  }
}

const NOWHERE = -1

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Each end is the position after the last character, or NOWHERE. */
function endOfValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return endOfText(text, at)
  return first === OPEN_OBJECT || first === OPEN_LIST ? endOfNested(text, at) : endOfPlain(text, at)
}

function endOfText(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return NOWHERE
  let quote = text.indexOf('"', at + 1)
  while (quote !== NOWHERE && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote === NOWHERE ? NOWHERE : quote + 1
}

/** A backslash escapes the next one, too. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

function endOfNested(text: string, at: number): number {
  let depth = 0
  let end = at
  do {
    const code = text.charCodeAt(end)
    if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
    if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1
    end = code === QUOTE ? endOfText(text, end) : end + 1
  } while (depth > 0 && end !== NOWHERE && end < text.length)
  return depth === 0 ? end : NOWHERE
}

/** A number, `true`, `false` or `null` (RFC 8259 sections 3 and 6). */
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

function endOfPlain(text: string, at: number): number {
  PLAIN.lastIndex = at
  return PLAIN.test(text) ? PLAIN.lastIndex : NOWHERE
}
