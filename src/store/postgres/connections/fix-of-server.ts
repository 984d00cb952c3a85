/** The command that fixes a database server that can't be used. None has a password: `<password>` stands for it. */
import { AGAIN, againWith, shellWord } from '../../../base/problems/fix.ts'
import { isHere, readPostgresUrl, type SessionTarget } from './url.ts'

/** Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html, and of Node. */
const FIXES: Readonly<Record<string, (place: PostgresPlace) => string>> = {
  '28P01': ({ again }) => again({}),
  '28000': ({ tool, user }) => `createuser ${tool} ${shellWord(user)}`,
  '3D000': ({ tool, user, database }) => `createdb ${tool} -O ${shellWord(user)} ${shellWord(database)}`,
  '53300': () => againWith('DATABASE_POOL', 4),
  '25006': ({ again, mayFollow }) => again(mayFollow ? { target: 'read-write' } : { host: '<primary>' }),
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
  /** Its hosts are this machine. */
  readonly onThisMachine: boolean
  readonly user: string
  readonly database: string
  readonly schema: string
  /** One of its hosts may take writes, and nothing asks for that one. */
  readonly mayFollow: boolean
  /** How PostgreSQL's own programs reach the server as its superuser. */
  readonly tool: string
  /** The command that failed, with another URL. */
  readonly again: (parts: OtherParts) => string
}

interface OtherParts {
  readonly host?: string
  readonly mode?: string
  readonly ca?: string
  readonly target?: SessionTarget
}

export function fixOfServer(location: string, cause: unknown): string | undefined {
  const place = serverPlace(location)
  const { code = '', message = '' } = cause as { readonly code?: string; readonly message?: string }
  if (/does not support SSL/.test(message)) return turnTlsOn(place)
  // A pooler in transaction mode passes no settings of a session on.
  if (/unsupported startup parameter/.test(message)) return againWith('DATABASE_POOLER', 'transaction')
  if (/no pg_hba\.conf entry/.test(message)) return place.again({ mode: 'verify-full' })
  if (code === '42501') return grant(place, message)
  const refused = /ECONNREFUSED/.test(message) || /timeout/.test(message) ? 'ECONNREFUSED' : code
  return FIXES[refused]?.(place)
}

export function serverPlace(location: string): PostgresPlace {
  const { each, target: given } = readPostgresUrl(location)
  const urls = each.map((one) => new URL(one))
  const [{ username, pathname, searchParams: parameters }] = urls as [URL]
  const hosts = urls.map(
    ({ hostname }) => parameters.get('host') ?? (hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost'),
  )
  const ports = urls.map(({ port }) => port || '5432')
  const user = decodeURIComponent(username) || 'postgres'
  return {
    onThisMachine: hosts.every(isHere),
    user,
    database: decodeURIComponent(pathname.slice(1)),
    schema: /search_path=(\w+)/.exec(parameters.get('options') ?? '')?.[1] ?? 'public',
    mayFollow: urls.length > 1 && given === 'any',
    tool: `-h ${shellWord(hosts.join())} -p ${ports.join()} -U postgres`,
    again: ({ host, mode, ca, target = given }) => {
      const searchParams = new URLSearchParams(parameters)
      if (mode !== undefined) searchParams.set('sslmode', mode)
      if (ca !== undefined) searchParams.set('sslrootcert', ca)
      if (target !== 'any' && host === undefined) searchParams.set('target_session_attrs', target)
      const query = decodeURIComponent(searchParams.toString())
      const places =
        host === undefined ? urls.map(({ hostname }, at) => `${hostname}:${ports[at]}`) : [`${host}:${ports[0]}`]
      const whole = `postgres://${username}:<password>@${places.join()}${pathname}${query && '?'}${query}`
      return `DATABASE_URL='${whole.replaceAll("'", '%27')}' ${AGAIN}`
    },
  }
}

/** Nobody but the owner of the tables needs rights on them, except to leave decision records: that takes turns. */
function grant({ tool, user, database, schema }: PostgresPlace, denied: string): string {
  const table = /for table (?<name>\S+)$/.exec(denied)?.groups?.name
  const rights = table === undefined ? [`CREATE, USAGE ON SCHEMA ${schema}`] : [`<rights> ON ${schema}."${table}"`]
  const ofRecords = [`SELECT, UPDATE ON ${schema}.turns`, `INSERT ON ${schema}.outbox`]
  const given = ['turns', 'outbox'].includes(table ?? '') ? ofRecords : rights
  const commands = given.map((one) => `-c ${shellWord(`GRANT ${one} TO "${user}"`)}`)
  return `psql ${tool} -d ${shellWord(database)} ${commands.join(' ')}`
}

function start({ onThisMachine, tool }: PostgresPlace): string {
  return onThisMachine ? 'sudo systemctl start postgresql' : `pg_isready ${tool}`
}

function trust({ again }: PostgresPlace): string {
  return again({ mode: 'verify-full', ca: '<file>' })
}

/** On this machine nobody listens in between. */
function turnTlsOn({ onThisMachine, tool, again }: PostgresPlace): string {
  if (onThisMachine) return again({ mode: 'disable' })
  return `psql ${tool} -c 'ALTER SYSTEM SET ssl = on' -c 'SELECT pg_reload_conf()'`
}
