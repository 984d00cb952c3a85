/** The embedded keys in the database that instances share, encrypted and authenticated under KEYS_SECRET. */
import { againWith } from '../../../base/problems/fix.ts'
import type { SigningKeys, StoredKey, StoredKeys } from '../../../store/signing-keys.ts'
import { KeyError } from '../key-error.ts'
import { canSign, generateKey, parseEmbeddedKey } from './embedded-key.ts'
import {
  inOrder,
  type KeptKey,
  type KeyPlace,
  type NotedKey,
  type RetiredKey,
  type RingKeys,
  UnreadableKeys,
} from './key-place.ts'
import { createKeySeal, type KeySeal } from './key-seal.ts'
import type { KeysSecrets } from './keys-secret.ts'

/** The keys that a database keeps, decrypted. Throws KeyError. */
export async function readStoredKeys(stored: StoredKeys, secrets: KeysSecrets, database: string): Promise<RingKeys> {
  const changesNothing = { read: async () => stored } as unknown as SigningKeys
  return new KeysInDatabase(changesNothing, createKeySeal(secrets), database).read()
}

interface KeysReading {
  readonly keys: RingKeys
  /** By number. */
  readonly texts: ReadonlyMap<number, string>
  readonly now: number
}

/** Other instances may change keys while they are encrypted again. */
const MOST_ROUNDS = 5

export class KeysInDatabase implements KeyPlace {
  readonly #stored: SigningKeys
  readonly #seal: KeySeal
  /** For messages. */
  readonly #database: string
  /** By text, so that a text is decrypted once. */
  #parsed = new Map<string, KeptKey['key']>()
  #seen = ''

  constructor(stored: SigningKeys, seal: KeySeal, database: string) {
    this.#stored = stored
    this.#seal = seal
    this.#database = database
  }

  async makeFirstKey(): Promise<void> {
    if (!(await this.isEmpty())) return
    await this.succeed(0)
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#stored.read()).keys.length === 0
  }

  async read(): Promise<RingKeys> {
    return (await this.#readAll()).keys
  }

  async readChanged(): Promise<RingKeys | undefined> {
    const { keys } = await this.#stored.read()
    return JSON.stringify(keys) === this.#seen ? undefined : this.read()
  }

  async succeed(after: number): Promise<boolean> {
    const number = after + 1
    return this.#stored.add(number, await this.#seal.seal(number, JSON.stringify(await generateKey())))
  }

  async tidy(): Promise<readonly RetiredKey[]> {
    const { keys, texts, now } = await this.#readAll()
    for (const { number, key, endsAt } of keys.retired) {
      if (endsAt <= now) await this.#stored.remove(number)
      else if (canSign(key)) await this.#replace(number, texts, JSON.stringify(key.jwk))
    }
    return keys.retired.filter(({ endsAt }) => endsAt > now)
  }

  async removeRetired(): Promise<readonly RetiredKey[]> {
    const { retired } = await this.read()
    for (const { number } of retired) await this.#stored.remove(number)
    return retired
  }

  async noteToken({ number }: KeptKey, lastsMs: number): Promise<void> {
    if (await this.#stored.noteToken(number, lastsMs)) return
    throw new KeyError('the signing key was removed at this moment; run the command again')
  }

  close(): Promise<void> {
    return this.#stored.close()
  }

  /** Encrypts all keys under the current secret, and returns how many weren't. */
  async encryptAgain(): Promise<number> {
    let changed = 0
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { keys } = await this.#stored.read()
      const others = keys.filter(({ text }) => !this.#seal.isCurrent(text))
      if (others.length === 0) return changed
      for (const { number, text } of others) {
        const sealed = await this.#seal.seal(number, await this.#open(number, text))
        if (await this.#stored.replace(number, text, sealed)) changed += 1
      }
    }
    throw new KeyError('other instances keep changing the signing keys; run the command again')
  }

  async #readAll(): Promise<KeysReading> {
    const { now, keys: rows } = await this.#stored.read()
    if (rows.length === 0) {
      throw new KeyError(`there is no signing key in the database \`${this.#database}\`; start the server once`)
    }
    try {
      const keys = await this.#parseAll(rows)
      this.#seen = JSON.stringify(rows)
      return { keys, texts: new Map(rows.map(({ number, text }) => [number, text])), now }
    } catch (error) {
      this.#seen = ''
      throw error instanceof KeyError ? new UnreadableKeys(error, rows) : error
    }
  }

  async #parseAll(rows: readonly StoredKey[]): Promise<RingKeys> {
    const noted: NotedKey[] = []
    const parsed = new Map<string, KeptKey['key']>()
    for (const row of rows) {
      const key = await this.#parse(row)
      parsed.set(row.text, key)
      noted.push({ number: row.number, createdAt: row.createdAt, notedEnd: row.tokensEndAt, key })
    }
    const keys = inOrder(noted)
    if (!keys) throw this.#damaged(Number(rows.at(-1)?.number))
    this.#parsed = parsed
    return keys
  }

  async #parse({ number, text }: StoredKey): Promise<KeptKey['key']> {
    const known = this.#parsed.get(text)
    if (known) return known
    return parseEmbeddedKey(`${number} of the database ${this.#database}`, await this.#open(number, text))
  }

  async #open(number: number, text: string): Promise<string> {
    const found = await this.#seal.open(number, text)
    if (found.kind === 'opened') return found.text
    if (found.kind === 'damaged') throw this.#damaged(number)
    throw new KeyError(
      `KEYS_SECRET can't decrypt the signing keys of the database ${this.#database}; ` +
        'set it to the value that encrypted them, or set KEYS_SECRET_OLD to that value',
      againWith('KEYS_SECRET', "'<the value that encrypted them>'"),
    )
  }

  async #replace(number: number, texts: ReadonlyMap<number, string>, text: string): Promise<void> {
    await this.#stored.replace(number, texts.get(number) ?? '', await this.#seal.seal(number, text))
  }

  #damaged(number: number): KeyError {
    return new KeyError(
      `the signing key ${number} of the database ${this.#database} is damaged; restore its row of signing_keys, ` +
        'or delete all rows to get a new key',
    )
  }
}
