/** The writes of a run in the order of their commits, and those among them that an earlier commit had forbidden. */
import { DatabaseSync } from 'node:sqlite'
import type { DecisionRecord } from '../../../src/decision-log/decision-record.ts'
import { TEAM, USERS, WORLD } from './world.ts'

/** Keeps each record that a write leaves in the outbox, in the transaction of the write. */
export class Commits {
  readonly #database: DatabaseSync

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: 5000 })
    this.#database.exec(`create table commits (place integer primary key autoincrement, record text);
      create trigger keep_commits after insert on outbox
      begin insert into commits (record) values (new.record); end`)
  }

  all(): readonly DecisionRecord[] {
    const rows = this.#database.prepare('select record from commits order by place').all()
    return rows.map(({ record }) => JSON.parse(String(record)))
  }

  close(): void {
    this.#database.close()
  }
}

export interface Verdict {
  /** Writes of tasks and plans. */
  readonly writes: number
  /** Writes of memberships, suspensions and users. */
  readonly changes: number
  /** The reason for each write that was forbidden when it committed. */
  readonly forbidden: readonly Reason[]
}

export type Reason = 'no membership' | 'a suspension' | 'no team'

/** Plays the commits back, from the objects at the start. */
export function judge(commits: readonly DecisionRecord[]): Verdict {
  const members = new Map(WORLD.memberships?.map(({ id, document }) => [id, String(document.userId)]))
  const suspended = new Map<string, string>()
  const teams = new Map(USERS.map((user) => [user, TEAM]))
  const forbidden: Reason[] = []
  let writes = 0
  for (const commit of commits) {
    const { resource, objectId = '', subject = '' } = commit
    if (resource === 'memberships') follow(members, commit)
    else if (resource === 'suspensions') follow(suspended, commit)
    else if (resource === 'users') teams.set(objectId, String(commit.facts?.proposed?.team))
    else {
      writes += 1
      if (resource === 'plans') forbidden.push(...reasons({ 'no team': teams.get(subject) !== TEAM }))
      else {
        const [isMember, isSuspended] = [members, suspended].map((rows) => [...rows.values()].includes(subject))
        forbidden.push(...reasons({ 'no membership': !isMember, 'a suspension': isSuspended === true }))
      }
    }
  }
  return { writes, changes: commits.length - writes, forbidden }
}

function follow(rows: Map<string, string>, { action, objectId = '', facts }: DecisionRecord): void {
  if (action === 'delete') rows.delete(objectId)
  else rows.set(objectId, String(facts?.proposed?.userId))
}

function reasons(found: Partial<Record<Reason, boolean>>): readonly Reason[] {
  return (Object.keys(found) as Reason[]).filter((reason) => found[reason])
}
