/** Named values next to the objects: secrets that instances share, and marks that describe the data. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** The mark that the readiness check writes. */
export const PROBED = 'probed'

export class NamedValues {
  readonly #secret: StatementSync
  readonly #keepSecret: StatementSync
  readonly #mark: StatementSync
  readonly #setMark: StatementSync

  constructor(database: DatabaseSync) {
    this.#secret = database.prepare('select value from secrets where name = ?')
    this.#keepSecret = database.prepare('insert into secrets (name, value) values (?, ?) on conflict do nothing')
    this.#mark = database.prepare('select value from marks where name = ?')
    this.#setMark = database.prepare(
      'insert into marks (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
    )
  }

  secret(name: string): Uint8Array | undefined {
    return this.#secret.get(name)?.value as Uint8Array | undefined
  }

  /** The secret with this name: the candidate, unless another process has stored one first. */
  keepSecret(name: string, candidate: Uint8Array): Uint8Array {
    this.#keepSecret.run(name, candidate)
    const kept = this.secret(name)
    if (!kept) throw new Error('the secret was deleted while it was stored')
    return kept
  }

  mark(name: string): string | undefined {
    return this.#mark.get(name)?.value as string | undefined
  }

  setMark(name: string, value: string): void {
    this.#setMark.run(name, value)
  }

  /** A write that changes nothing. */
  touch(): void {
    // Two values: SQLite writes no page whose content stays the same. The second write restores the first value.
    this.setMark(PROBED, 'asked')
    this.setMark(PROBED, 'answered')
  }
}
