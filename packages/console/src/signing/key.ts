/**
 * The key with which a person signs proposals and approvals. The browser makes it and keeps its private half, which no
 * code can read, this page's neither (WebCrypto, `extractable: false`). Its public half goes into approvals.yaml.
 */
import { createStore } from '../parts/store.ts'

export interface OwnKey {
  readonly pair: CryptoKeyPair
  /** The public half (RFC 8037). */
  readonly x: string
  /** The thumbprint of the public half (RFC 7638). */
  readonly kid: string
}

/** Undefined before it is looked for; null for none. */
export const ownKey = createStore<OwnKey | null | undefined>(undefined)

const DATABASE = 'sallyport'
const STORE = 'keys'
const NAME = 'own'

export async function findKey(): Promise<void> {
  const pair = await inStore<CryptoKeyPair | undefined>('readonly', (store) => store.get(NAME))
  ownKey.set(pair ? await described(pair) : null)
}

/** Throws where the browser has no Ed25519, or the page wasn't opened over https. */
export async function makeKey(): Promise<void> {
  if (!globalThis.isSecureContext)
    throw new Error('Keys need https, or an address of this machine; open the console so.')
  const pair = (await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify'])) as CryptoKeyPair
  await inStore('readwrite', (store) => store.put(pair, NAME))
  ownKey.set(await described(pair))
}

export async function forgetKey(): Promise<void> {
  await inStore('readwrite', (store) => store.delete(NAME))
  ownKey.set(null)
}

/** The signature of a text (ASCII), in base64url. */
export async function signatureOf(text: string, { pair }: OwnKey): Promise<string> {
  return base64url(await crypto.subtle.sign('Ed25519', pair.privateKey, new TextEncoder().encode(text)))
}

async function described(pair: CryptoKeyPair): Promise<OwnKey> {
  const { x = '' } = await crypto.subtle.exportKey('jwk', pair.publicKey)
  const members = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x })
  return { pair, x, kid: base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(members))) }
}

function base64url(bytes: ArrayBuffer): string {
  const text = String.fromCharCode(...new Uint8Array(bytes))
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE)
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const transaction = opening.result.transaction(STORE, mode)
      const request = work(transaction.objectStore(STORE))
      transaction.oncomplete = () => {
        opening.result.close()
        resolve(request.result)
      }
      transaction.onerror = () => reject(transaction.error)
    }
  })
}
