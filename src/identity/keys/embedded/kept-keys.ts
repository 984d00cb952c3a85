/** The embedded keys in the database, encrypted and authenticated under a secret that the database doesn't have. */
import { randomBytes } from 'node:crypto'
import { againWith } from '../../../base/problems/fix.ts'
import { StoreUnavailable } from '../../../store/errors.ts'
import {
  type Database,
  databaseExists,
  fixOfDatabase,
  isFile,
  isShared,
  openSigningKeys,
  settingsOf,
} from '../../../store/open.ts'
import type { FirstKey, SigningKeys, StoredKey, StoredKeys } from '../../../store/signing-keys.ts'
import { KeyError } from '../key-error.ts'
import type { KeySettings } from '../key-settings.ts'
import {
  canSign,
  generateKey,
  inOrder,
  type KeptKey,
  type NotedKey,
  parseEmbeddedKey,
  type RetiredKey,
  type RingKeys,
} from './embedded-key.ts'
import { readKeyFolder } from './key-folder.ts'
import { createKeySeal, type KeySeal } from './key-seal.ts'
import {
  KeysSecret,
  type KeysSecrets,
  makeSecretFile,
  readSecretFile,
  secretFileIn,
  WITH_NEW_SECRET,
} from './keys-secret.ts'

export interface KeyPlaceSettings {
  readonly database: Database
  /** KEYS_SECRET; undefined for the secret that is in the data folder. */
  readonly secrets: KeysSecrets | undefined
  /** Also where 0.1 had the keys. */
  readonly dataDirectory: string
}

/** Undefined for a server that signs nothing. */
export function keyPlaceOf(config: ConfiguredKeys): KeyPlaceSettings | undefined {
  const { dataDirectory, database, tokens } = config
  return tokens.keys.kind === 'embedded' ? { dataDirectory, database, secrets: tokens.keys.secrets } : undefined
}

interface ConfiguredKeys extends Omit<KeyPlaceSettings, 'secrets'> {
  readonly tokens: { readonly keys: KeySettings }
}

/**
 * For a server: a database without keys gets those of a folder of 0.1, whose number `imported` is told, or begins with a
 * new one. Throws KeyError.
 */
export async function openKeys(settings: KeyPlaceSettings, imported: (count: number) => void): Promise<KeptKeys> {
  return open(settings, async (stored) => {
    const isEmpty = (await stored.read()).keys.length === 0
    // Before the secret is made: a start that a key of the folder stops leaves nothing behind.
    const folder = isEmpty ? await readKeyFolder(settings.dataDirectory) : []
    const secrets = isEmpty ? await makeSecrets(settings) : await findSecrets(settings)
    const keys = new KeptKeys(stored, createKeySeal(secrets), settings.database)
    if (isEmpty && (await keys.begin(folder)) && folder.length > 0) imported(folder.length)
    return keys
  })
}

/** Closes `stored` if `work` fails: an open connection would keep the process from ending. */
async function open(settings: KeyPlaceSettings, work: (stored: SigningKeys) => Promise<KeptKeys>): Promise<KeptKeys> {
  refuseNoSecret(settings)
  const { database } = settings
  const stored = await openSigningKeys(database).catch(async (error) => {
    throw error instanceof StoreUnavailable ? await unusable(database, error) : error
  })
  try {
    return await work(stored)
  } catch (error) {
    await stored.close()
    throw error
  }
}

/**
 * Whoever can read a database of a server must not be able to sign tokens, and instances on other machines need the same
 * secret, so no start makes one. To be called before anything is opened. Throws KeyError.
 */
export function refuseNoSecret({ database, secrets }: Pick<KeyPlaceSettings, 'database' | 'secrets'>): void {
  if (secrets || isFile(database)) return
  throw new KeyError(
    `KEYS_SECRET is not set, and signing keys are only kept encrypted in ${database.name}: set it to the value that ` +
      'encrypted them, or for the first start to a new one, from `openssl rand -base64 32`, and keep it',
    WITH_NEW_SECRET,
  )
}

/** The secrets of a database without keys. */
async function makeSecrets(settings: KeyPlaceSettings): Promise<KeysSecrets> {
  if (settings.secrets) return settings.secrets
  if (!isShared(settings.database))
    return { current: new KeysSecret('the secret of this process', randomBytes(32)), old: [] }
  return { current: await makeSecretFile(settings.dataDirectory), old: [] }
}

/** The secrets of a database with keys. Until all are encrypted under KEYS_SECRET, some may need the file. */
async function findSecrets({ database, secrets, dataDirectory }: KeyPlaceSettings): Promise<KeysSecrets> {
  if (secrets && !isFile(database)) return secrets
  const inFile = await readSecretFile(dataDirectory)
  if (secrets) return { current: secrets.current, old: [...secrets.old, ...(inFile ? [inFile] : [])] }
  if (inFile) return { current: inFile, old: [] }
  throw new KeyError(
    `the signing keys of the database ${database.name} are encrypted, KEYS_SECRET is not set, and there is no ` +
      `${secretFileIn(dataDirectory)}: restore the file, or set KEYS_SECRET if it encrypted them; ${OR_WITHOUT_KEYS}`,
    againWith('KEYS_SECRET', "'<the value that encrypted them>'"),
  )
}

const OR_WITHOUT_KEYS =
  'if the secret is lost, delete all rows of `signing_keys`: the next start makes a new key, and everybody signs in again'

async function unusable(database: Database, error: StoreUnavailable): Promise<KeyError> {
  const sentence = `the database ${database.name} can't be used (${error.why}); check ${settingsOf(database)}`
  return new KeyError(sentence, await fixOfDatabase(database, error))
}

/**
 * For commands beside a server. They make no database and no first key: with a wrong data folder or database they would
 * only seem to work. Throws KeyError also if the database doesn't answer.
 */
export async function withKeys<T>(settings: KeyPlaceSettings, work: (keys: KeptKeys) => Promise<T>): Promise<T> {
  const { database } = settings
  if (!isShared(database)) {
    throw new KeyError(`no other process can read the signing keys of ${database.name}; set DATABASE_URL to a file`)
  }
  if (!databaseExists(database)) {
    throw new KeyError(
      `there is no database \`${database.name}\`; start the server once, or set ${settingsOf(database)} to its database`,
      'sallyport serve',
    )
  }
  try {
    const keys = await open(settings, (stored) => findKeys(settings, stored))
    try {
      return await work(keys)
    } finally {
      await keys.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new KeyError(`the database can't be used (${error.why}); try again when it answers`)
  }
}

async function findKeys(settings: KeyPlaceSettings, stored: SigningKeys): Promise<KeptKeys> {
  if ((await stored.read()).keys.length === 0) throw noKeyIn(settings.database)
  return new KeptKeys(stored, createKeySeal(await findSecrets(settings)), settings.database)
}

function noKeyIn({ name }: Pick<Database, 'name'>): KeyError {
  return new KeyError(`there is no signing key in the database \`${name}\`; start the server once`, 'sallyport serve')
}

/** The decrypted keys of a database; at least one. Throws KeyError. */
export async function readStoredKeys(stored: StoredKeys, settings: KeyPlaceSettings): Promise<RingKeys> {
  const changesNothing: Pick<SigningKeys, 'read'> = { read: async () => stored }
  return new KeptKeys(
    changesNothing as SigningKeys,
    createKeySeal(await findSecrets(settings)),
    settings.database,
  ).read()
}

/** Some keys can't be read, but it is known which keys are there. */
export class UnreadableKeys extends KeyError {
  readonly #present: ReadonlySet<string>

  constructor({ message, fix }: KeyError, present: readonly Pick<KeptKey, 'number' | 'createdAt'>[]) {
    super(message, fix)
    this.#present = new Set(present.map(idOf))
  }

  has(kept: KeptKey): boolean {
    return this.#present.has(idOf(kept))
  }
}

function idOf({ number, createdAt }: Pick<KeptKey, 'number' | 'createdAt'>): string {
  return `${number} ${createdAt}`
}

interface KeysReading {
  readonly keys: RingKeys
  /** By number. */
  readonly texts: ReadonlyMap<number, string>
  readonly now: number
}

/** Other instances may change keys while they are encrypted again. */
const MOST_ROUNDS = 5

/** Methods throw KeyError and StoreUnavailable. */
export class KeptKeys {
  readonly #stored: SigningKeys
  readonly #seal: KeySeal
  readonly #database: Pick<Database, 'name'>
  /** By text, so that a text is decrypted once. */
  #parsed = new Map<string, KeptKey['key']>()
  #seen = ''

  constructor(stored: SigningKeys, seal: KeySeal, database: Pick<Database, 'name'>) {
    this.#stored = stored
    this.#seal = seal
    this.#database = database
  }

  /**
   * Stores these keys, or a new one without any, if the database has no key yet. False if another process was first: all
   * processes that start at the same time get the same keys.
   */
  async begin(imported: readonly FirstKey[] = []): Promise<boolean> {
    const isNew = imported.length === 0
    const first = isNew ? [{ number: 1, text: JSON.stringify(await generateKey()), tokensEndAt: 0 }] : imported
    const sealed = first.map(async (key) => ({ ...key, text: await this.#seal.seal(key.number, key.text) }))
    return this.#stored.begin(await Promise.all(sealed))
  }

  async read(): Promise<RingKeys> {
    return (await this.#readAll()).keys
  }

  /** Undefined if the keys are the same as at the last reading. */
  async readChanged(): Promise<RingKeys | undefined> {
    const { keys } = await this.#stored.read()
    return JSON.stringify(keys) === this.#seen ? undefined : this.read()
  }

  /** Makes the successor of key number `after`; false if another process was first. */
  async succeed(after: number): Promise<boolean> {
    const number = after + 1
    return this.#stored.add(number, await this.#seal.seal(number, JSON.stringify(await generateKey())))
  }

  /** Removes the private halves of older keys, and the keys whose tokens have all ended. Returns the other keys. */
  async tidy(): Promise<readonly RetiredKey[]> {
    const { keys, texts, now } = await this.#readAll()
    for (const { number, key, endsAt } of keys.retired) {
      if (endsAt <= now) await this.#stored.remove(number)
      else if (canSign(key)) await this.#replace(number, texts, JSON.stringify(key.jwk))
    }
    return keys.retired.filter(({ endsAt }) => endsAt > now)
  }

  /** Removes the older keys, so that none of their tokens is accepted any more, and returns them. */
  async removeRetired(): Promise<readonly RetiredKey[]> {
    const { retired } = await this.read()
    for (const { number } of retired) await this.#stored.remove(number)
    return retired
  }

  /**
   * Must be called before a token that lasts longer than those of sign-in is handed out: its key must outlast it.
   * `lastsMs`: from now.
   */
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
    if (rows.length === 0) throw noKeyIn(this.#database)
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
    const key = await parseEmbeddedKey(await this.#open(number, text))
    if (key) return key
    throw this.#damaged(number)
  }

  async #open(number: number, text: string): Promise<string> {
    const found = await this.#seal.open(number, text)
    if (found.kind === 'opened') return found.text
    if (found.kind === 'damaged') throw this.#damaged(number)
    throw new KeyError(
      `${this.#seal.secret} can't decrypt the signing keys of the database ${this.#database.name}; set KEYS_SECRET or ` +
        `KEYS_SECRET_OLD to the value that encrypted them; ${OR_WITHOUT_KEYS}`,
      againWith('KEYS_SECRET', "'<the value that encrypted them>'"),
    )
  }

  async #replace(number: number, texts: ReadonlyMap<number, string>, text: string): Promise<void> {
    await this.#stored.replace(number, texts.get(number) ?? '', await this.#seal.seal(number, text))
  }

  #damaged(number: number): KeyError {
    return new KeyError(
      `the signing key ${number} of the database ${this.#database.name} is damaged; restore its row of signing_keys, ` +
        'or delete all rows to get a new key',
    )
  }
}
