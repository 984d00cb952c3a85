/** The current state of a subject, and of its session or key. Every request asks the database. */
import type { KeyStanding, SessionStanding, Standing } from '../../directory.ts'
import type { Row } from '../connections/connection.ts'
import type { Connections } from '../connections/connections.ts'
import { KIND } from '../layout/keys.ts'
import { decodeText, encodeText } from '../stored-text.ts'
import { API_KEY_COLUMNS, apiKeyOf } from './api-keys.ts'

export class PostgresStandings {
  readonly #connections: Connections
  readonly #queries: Readonly<Record<'subject' | 'session' | 'key', string>>

  /** `users`: the quoted table of the people; undefined where no schema declares them. */
  constructor(connections: Connections, users: string | undefined) {
    this.#connections = connections
    this.#queries = queriesOf(users)
  }

  async of(subject: string): Promise<Standing> {
    const [row] = await this.#connections.quick({ text: this.#queries.subject, values: [encodeText(subject)] })
    return standingOf(row)
  }

  async ofSession(subject: string, session: string): Promise<SessionStanding> {
    const values = [encodeText(subject), encodeText(session)]
    const [row] = await this.#connections.quick({ text: this.#queries.session, values })
    return { ...standingOf(row), sessionEndsAt: Number(row?.[4] ?? 0) }
  }

  async ofKey(id: string): Promise<KeyStanding | undefined> {
    const [row] = await this.#connections.quick({ text: this.#queries.key, values: [encodeText(id)] })
    return row && { ...standingOf(row), key: apiKeyOf(row.slice(4)) }
  }
}

function queriesOf(users: string | undefined) {
  const facts = `a.disabled, a.deleted, ${users ? `u.id is not null, ${rolesSql('u')}` : 'false, null'}`
  const joined = (subject: string) => {
    const record = users ? `left join ${users} as u on u.id = ${subject}` : ''
    return `left join accounts as a on a.user_id = ${subject} ${record}`
  }
  const asked = `(select $1::text collate "C" as subject) as asked ${joined('asked.subject')}`
  const session = 'left join sessions as s on s.id = $2 and s.user_id = asked.subject'
  return {
    subject: `select ${facts} from ${asked}`,
    session: `select ${facts}, least(s.ends_at, s.idle_ends_at) from ${asked} ${session}`,
    key: `select ${facts}, ${API_KEY_COLUMNS.map((column) => `k.${column}`).join()} from api_keys as k
      ${joined('k.subject')} where k.id = $1`,
  }
}

function standingOf(row: Row | undefined): Standing {
  if (!row) throw new Error('the look-up of a standing returned no row')
  const [disabled, deleted, hasRecord, roles] = row
  return { roles: hasRecord ? rolesOf(roles) : undefined, disabled: disabled === true, deleted: deleted === true }
}

/** The keys of the users record's field `roles`. */
export function rolesSql(alias: string): string {
  return `${alias}.keys -> 'roles'`
}

/** The texts of the list whose keys `rolesSql` selects; the schema of users may be any. */
export function rolesOf(keys: Row[number] | undefined): readonly string[] {
  const [first, ...elements]: string[] = typeof keys === 'string' ? JSON.parse(keys) : []
  if (first !== KIND.list) return []
  return elements.filter((key) => key.startsWith(KIND.text)).map((key) => decodeText(key.slice(1)))
}
