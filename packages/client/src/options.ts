/** What a client can be told, with its bounds. A mistake throws TypeError when the client is made, not when it asks. */
import type { TlsOptions } from 'node:tls'

export interface ClientOptions {
  /** The policy decision point, as it names itself: `https://pdp.example.com`. */
  readonly url: string
  /** Sent as `Authorization: Bearer`; a function is asked before each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** Further headers of each request, such as the API key of another server. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Of a whole question, with a retry: 500, at most 30,000. */
  readonly timeoutMs?: number | undefined
  /** Of an answer: 1 MiB. A larger one is an error. */
  readonly mostAnswerBytes?: number | undefined
  /** Connections at the same time, which are kept alive: 32. */
  readonly mostConnections?: number | undefined
  /** Questions without an answer; the next one is refused: 10,000. */
  readonly mostWaiting?: number | undefined
  /** Questions of one turn of the event loop become one request. `false` sends each alone. */
  readonly batch?: false | BatchOptions | undefined
  /** Off unless it is given. */
  readonly cache?: CacheOptions | undefined
  /** `ca`, `cert` and `key` for https. */
  readonly tls?: Pick<TlsOptions, 'ca' | 'cert' | 'key' | 'passphrase'> | undefined
  /** Credentials and decisions may go unencrypted to another machine. */
  readonly allowPlainHttp?: boolean | undefined
}

export interface BatchOptions {
  /** Questions of one request: 50. More are split. */
  readonly most?: number | undefined
  /** Of one request: 64 KiB. */
  readonly mostBytes?: number | undefined
}

export interface CacheOptions {
  /** How long a decision may be used again, at most 60. A change of data shows after this time at the latest. */
  readonly seconds: number
  /** Decisions; the one that was used longest ago makes room: 10,000. */
  readonly most?: number | undefined
}

export interface Settings extends Pick<ClientOptions, 'token' | 'tls'> {
  readonly base: URL
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly mostAnswerBytes: number
  readonly mostConnections: number
  readonly mostWaiting: number
  readonly batch: { readonly most: number; readonly mostBytes: number } | undefined
  readonly cache: { readonly seconds: number; readonly most: number } | undefined
  readonly allowPlainHttp: boolean
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Throws TypeError. */
export function readOptions(options: ClientOptions): Settings {
  const { batch = {}, cache, allowPlainHttp = false } = options
  return Object.freeze({
    base: readUrl('url', options.url, allowPlainHttp),
    token: options.token,
    headers: { ...options.headers },
    timeoutMs: within('timeoutMs', options.timeoutMs ?? 500, 30_000),
    mostAnswerBytes: whole('mostAnswerBytes', options.mostAnswerBytes ?? 1_048_576, 2 ** 30),
    mostConnections: whole('mostConnections', options.mostConnections ?? 32, 1024),
    mostWaiting: whole('mostWaiting', options.mostWaiting ?? 10_000, 1_000_000),
    batch:
      batch === false
        ? undefined
        : {
            most: whole('batch.most', batch.most ?? 50, 10_000),
            mostBytes: whole('batch.mostBytes', batch.mostBytes ?? 65_536, 2 ** 26),
          },
    cache: cache && {
      seconds: within('cache.seconds', cache.seconds, 60),
      most: whole('cache.most', cache.most ?? 10_000, 10_000_000),
    },
    tls: options.tls,
    allowPlainHttp,
  })
}

/** Only https, or this machine, unless plain http is allowed. Throws TypeError. */
export function readUrl(name: string, text: string, allowPlainHttp: boolean): URL {
  if (!URL.canParse(text)) throw new TypeError(`\`${name}\` is no URL: write \`https://pdp.example.com\``)
  const url = new URL(text)
  if (url.search || url.hash || url.username || url.password) {
    throw new TypeError(`\`${name}\` has a query, a fragment or credentials: leave them out`)
  }
  if (url.protocol === 'https:') return url
  if (url.protocol === 'http:' && (allowPlainHttp || LOOPBACK.test(url.hostname))) return url
  throw new TypeError(`\`${name}\` is not encrypted: write \`https:\`, or set \`allowPlainHttp\``)
}

function within(name: string, value: number, most: number): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value
  throw new TypeError(`\`${name}\` is \`${value}\`: give a number above 0 and at most ${most}`)
}

function whole(name: string, value: number, most: number): number {
  if (Number.isInteger(value)) return within(name, value, most)
  throw new TypeError(`\`${name}\` is \`${value}\`: give a whole number`)
}
