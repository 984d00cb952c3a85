/** The command that fixes a database server that can't be used. None has a password: `<password>` stands for it. */
import { AGAIN, againWith, shellWord } from '../../../base/problems/fix.ts'
import { isHere } from './url.ts'

/** Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html, and of Node. */
const FIXES: Readonly<Record<string, (place: PostgresPlace) => string>> = {
  '28P01': ({ again }) => again({}),
  '28000': ({ tool, user }) => `createuser ${tool} ${shellWord(user)}`,
  '3D000': ({ tool, user, database }) => `createdb ${tool} -O ${shellWord(user)} ${shellWord(database)}`,
  '42501': ({ tool, user, database }) =>
    `psql ${tool} -d ${shellWord(database)} -c ${shellWord(`GRANT CREATE, USAGE ON SCHEMA public TO "${user}"`)}`,
  '53300': () => againWith('DATABASE_POOL', 4),
  '25006': ({ again }) => again({ host: '<primary>' }),
  ENOTFOUND: ({ again }) => again({ host: '<host>' }),
  EAI_AGAIN: ({ again }) => again({ host: '<host>' }),
  ECONNREFUSED: start,
  ENOENT: start,
  DEPTH_ZERO_SELF_SIGNED_CERT: trust,
  SELF_SIGNED_CERT_IN_CHAIN: trust,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: trust,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: trust,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ again }) => again({ host: '<name in the certificate>' }),
}

interface PostgresPlace {
  readonly url: URL
  readonly user: string
  readonly database: string
  /** How PostgreSQL's own programs reach the server as its superuser. */
  readonly tool: string
  /** The command that failed, with another URL. */
  readonly again: (parts: { readonly host?: string; readonly mode?: string; readonly ca?: string }) => string
}

export function fixOfServer(location: string, cause: unknown): string | undefined {
  const place = serverPlace(location)
  const { code = '', message = '' } = cause as { readonly code?: string; readonly message?: string }
  if (/does not support SSL/.test(message)) return turnTlsOn(place)
  // A pooler in transaction mode passes no settings of a session on.
  if (/unsupported startup parameter/.test(message)) return againWith('DATABASE_POOLER', 'transaction')
  if (/no pg_hba\.conf entry/.test(message)) return place.again({ mode: 'verify-full' })
  const refused = /ECONNREFUSED/.test(message) || /timeout/.test(message) ? 'ECONNREFUSED' : code
  return FIXES[refused]?.(place)
}

export function serverPlace(location: string): PostgresPlace {
  const url = new URL(location)
  const host = url.searchParams.get('host') ?? (url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost')
  const user = decodeURIComponent(url.username) || 'postgres'
  const port = url.port || '5432'
  return {
    url,
    user,
    database: decodeURIComponent(url.pathname.slice(1)),
    tool: `-h ${shellWord(host)} -p ${port} -U postgres`,
    again: ({ host: other = url.hostname, mode, ca }) => {
      const { searchParams } = new URL(location)
      if (mode !== undefined) searchParams.set('sslmode', mode)
      if (ca !== undefined) searchParams.set('sslrootcert', ca)
      const query = decodeURIComponent(searchParams.toString())
      const whole = `postgres://${url.username}:<password>@${other}:${port}${url.pathname}${query && '?'}${query}`
      return `DATABASE_URL='${whole.replaceAll("'", '%27')}' ${AGAIN}`
    },
  }
}

function start({ url, tool }: PostgresPlace): string {
  return isHere(url.searchParams.get('host') ?? url.hostname) ? 'sudo systemctl start postgresql' : `pg_isready ${tool}`
}

function trust({ again }: PostgresPlace): string {
  return again({ mode: 'verify-full', ca: '<file>' })
}

/** On this machine nobody listens in between. */
function turnTlsOn({ url, tool, again }: PostgresPlace): string {
  if (isHere(url.searchParams.get('host') ?? url.hostname)) return again({ mode: 'disable' })
  return `psql ${tool} -c 'ALTER SYSTEM SET ssl = on' -c 'SELECT pg_reload_conf()'`
}
