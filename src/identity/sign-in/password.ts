/** Stored passwords: scrypt in PHC strings, created and verified off the event loop, a few at a time. */
import { randomBytes, randomInt, scrypt, timingSafeEqual } from 'node:crypto'
import { PASSWORD_LENGTH } from '../../resources/built-in/token-request.ts'

/** RFC 7914 section 2: N is 2 to the power of `ln`; a hash takes 128 * N * r bytes of memory, and p times the work. */
interface ScryptCost {
  readonly ln: number
  readonly r: number
  readonly p: number
}

/** One of the settings that OWASP's Password Storage Cheat Sheet calls equally strong; this one takes 32 MiB. */
const COST: ScryptCost = { ln: 15, r: 8, p: 3 }

const SALT_BYTES = 16
const HASH_BYTES = 32

/** Each hash keeps one of libuv's four threads busy; the other threads are for files. */
const AT_ONCE = 2
/** The limit of each line. Later requests are refused at once, because nobody would wait so long. */
const MOST_WAITING = 32

export interface Passwords {
  /** A PHC string, `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. Throws Overcrowded. */
  hash(password: string, line?: WaitingLine): Promise<string>
  /** Takes constant time. Without a hash it does the same work, and the password is never right. Throws Overcrowded. */
  verify(password: string, hash: string | undefined, line?: WaitingLine): Promise<boolean>
  /** Whether a hash was made at another cost than new hashes. */
  isOutdated(hash: string): boolean
}

interface ParsedHash {
  readonly cost: ScryptCost
  readonly salt: Buffer
  readonly hash: Buffer
}

export function createPasswords(cost: ScryptCost = COST): Passwords {
  const room = new WaitingRoom(AT_ONCE, MOST_WAITING)
  // Nobody knows a password for this hash.
  const nobodys: ParsedHash = { cost, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) }
  return {
    async hash(password, line = 'anybody') {
      const salt = randomBytes(SALT_BYTES)
      const hash = await room.take(line, () => derive(password, { cost, salt }))
      return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${unpadded(salt)}$${unpadded(hash)}`
    },
    async verify(password, text, line = 'anybody') {
      const kept = text === undefined ? undefined : parse(text)
      const against = kept ?? nobodys
      const hash = await room.take(line, () => derive(password, against))
      return timingSafeEqual(hash, against.hash) && kept !== undefined
    },
    isOutdated(text) {
      const kept = parse(text)?.cost
      return kept?.ln !== cost.ln || kept.r !== cost.r || kept.p !== cost.p
    },
  }
}

/** The fault of a new password, as the end of a sentence; undefined for a good one. */
export function passwordFault(password: string): string | undefined {
  const length = [...normalized(password)].length
  if (!password.isWellFormed()) return 'must be valid Unicode'
  if (length < PASSWORD_LENGTH.min) return `must have at least ${PASSWORD_LENGTH.min} characters`
  return length > PASSWORD_LENGTH.max ? `must have at most ${PASSWORD_LENGTH.max} characters` : undefined
}

export function isSamePassword(one: string, other: string): boolean {
  return normalized(one) === normalized(other)
}

const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

/** 100 random bits in letters and digits that are hard to mistake for each other, in groups of five. */
export function generatePassword(): string {
  const letters = Array.from({ length: 20 }, () => ALPHABET.charAt(randomInt(ALPHABET.length)))
  return [0, 5, 10, 15].map((start) => letters.slice(start, start + 5).join('')).join('-')
}

/** One character can be written in several ways, and keyboards differ (NIST SP 800-63B-4 section 3.1.1.2). */
function normalized(password: string): string {
  return password.normalize('NFC')
}

function derive(password: string, { cost, salt }: Pick<ParsedHash, 'cost' | 'salt'>): Promise<Buffer> {
  const { ln, r, p } = cost
  const options = { N: 2 ** ln, r, p, maxmem: 2 * 128 * 2 ** ln * r }
  return new Promise((resolve, reject) => {
    scrypt(normalized(password), salt, HASH_BYTES, options, (error, hash) => (error ? reject(error) : resolve(hash)))
  })
}

/** Reads the PHC string format: base64 without padding. Undefined for text that this program didn't write. */
function parse(text: string): ParsedHash | undefined {
  const written =
    /^\$scrypt\$ln=(?<ln>\d{1,2}),r=(?<r>\d{1,2}),p=(?<p>\d{1,2})\$(?<salt>[A-Za-z0-9+/]+)\$(?<hash>[A-Za-z0-9+/]{43})$/
  const groups = written.exec(text)?.groups
  if (!groups) return undefined
  const { ln, r, p, salt = '', hash = '' } = groups
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  return { cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '')
}

// The waiting room runs a few pieces of work at once and lets some wait, in two lines; it refuses work beyond that.

/** The line is full, so nobody else may join it. */
export class Overcrowded extends Error {
  constructor() {
    super('too many are waiting')
    this.name = 'Overcrowded'
  }
}

/** Strangers can fill their own line, but they never stand in the line of known users. */
type WaitingLine = 'known' | 'anybody'

class WaitingRoom {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #lines: Readonly<Record<WaitingLine, (() => void)[]>> = { known: [], anybody: [] }
  /** The line of the work that started last after waiting. */
  #last: WaitingLine = 'anybody'
  #running = 0

  /** `mostWaiting`: the limit of each line. */
  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /**
   * Runs the work of a line in the order of the calls; the two lines take turns. Throws Overcrowded, or the error of
   * the work.
   */
  async take<T>(line: WaitingLine, work: () => Promise<T>): Promise<T> {
    if (this.#running === this.#atOnce) await this.#wait(this.#lines[line])
    else this.#running += 1
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #wait(line: (() => void)[]): Promise<void> {
    if (line.length >= this.#mostWaiting) throw new Overcrowded()
    return new Promise((resolve) => line.push(resolve))
  }

  /** Passes the place directly to the next in line, so that nobody can take it in between. */
  #pass(): void {
    const inTurn: readonly WaitingLine[] = this.#last === 'known' ? ['anybody', 'known'] : ['known', 'anybody']
    const line = inTurn.find((one) => this.#lines[one].length > 0)
    if (line) this.#last = line
    const next = line && this.#lines[line].shift()
    if (next) next()
    else this.#running -= 1
  }
}
