/** The current state of a subject, and of its session or key. Every request asks the database. */

import type { AccountStatus, KeyStatus, SessionStatus } from '../directory.ts'
import { type AccountStatuses, API_KEY_COLUMNS, apiKeyOf } from '../sql/directory.ts'
import type { Row } from '../sql/statement.ts'
import type { StoreConnections } from './connections/connections.ts'
import type { Gathered } from './connections/gathered.ts'
import { DIALECT } from './dialect.ts'
import { KIND } from './layout/keys.ts'
import { ASKED_FOR, askedText, oneRow } from './query/condition.ts'
import { decodeText, encodeText } from './stored-text.ts'

export class PostgresAccountStatuses implements AccountStatuses {
  readonly #bySubject: Gathered<AccountStatus>
  readonly #bySession: Gathered<SessionStatus>
  readonly #byKey: Gathered<KeyStatus | undefined>

  /** `users`: the quoted table of the people; undefined where no schema declares them. */
  constructor(connections: Pick<StoreConnections, 'gathered'>, users: string | undefined) {
    const texts = textsOf(users)
    this.#bySubject = connections.gathered(texts.subject, accountStatusOf)
    this.#bySession = connections.gathered(texts.session, (row) => ({
      ...accountStatusOf(row),
      sessionEndsAt: Number(row?.[4] ?? 0),
    }))
    this.#byKey = connections.gathered(
      texts.key,
      (row) => row && { ...accountStatusOf(row), key: apiKeyOf(row.slice(4), DIALECT) },
    )
  }

  accountStatus(subject: string): Promise<AccountStatus> {
    return this.#bySubject.of(encodeText(subject))
  }

  sessionStatus(subject: string, session: string): Promise<SessionStatus> {
    return this.#bySession.of(encodeText(subject), encodeText(session))
  }

  keyStatus(id: string): Promise<KeyStatus | undefined> {
    return this.#byKey.of(encodeText(id))
  }
}

function textsOf(users: string | undefined) {
  const record = users ? 'u.id is not null, u.roles' : 'false, null'
  const facts = `asked.nth, a.disabled, a.deleted, ${record}`
  const joined = (subject: string) => {
    const account = oneRow(`select disabled, deleted from accounts where user_id = ${subject}`)
    const user = users && oneRow(`select id, ${rolesSql('r')} as roles from ${users} as r where id = ${subject}`)
    return `left join ${account} as a on true ${user ? `left join ${user} as u on true` : ''}`
  }
  const session = oneRow(`select least(ends_at, idle_ends_at) as ends_at from sessions
    where id = ${askedText(1)} and user_id = ${askedText(0)}`)
  const key = oneRow(`select ${API_KEY_COLUMNS.join()} from api_keys where id = ${askedText(0)}`)
  return {
    subject: `select ${facts} from ${ASKED_FOR} ${joined(askedText(0))}`,
    session: `select ${facts}, s.ends_at from ${ASKED_FOR} ${joined(askedText(0))}
      left join ${session} as s on true`,
    key: `select ${facts}, ${API_KEY_COLUMNS.map((column) => `k.${column}`).join()} from ${ASKED_FOR}
      cross join ${key} as k ${joined('k.subject')}`,
  }
}

function accountStatusOf(row: Row | undefined): AccountStatus {
  if (!row) throw new Error('the look-up of an account status returned no row')
  const [disabled, deleted, hasRecord, roles] = row
  return { roles: hasRecord ? rolesOf(roles) : undefined, disabled: disabled === true, deleted: deleted === true }
}

/** The keys of the users record's field `roles`. */
function rolesSql(alias: string): string {
  return `${alias}.keys -> 'roles'`
}

/** The texts of the list whose keys `rolesSql` selects; the schema of users may be any. */
function rolesOf(keys: Row[number] | undefined): readonly string[] {
  const [first, ...elements]: string[] = typeof keys === 'string' ? JSON.parse(keys) : []
  if (first !== KIND.list) return []
  return elements.filter((key) => key.startsWith(KIND.text)).map((key) => decodeText(key.slice(1)))
}
