/** Where PostgreSQL keeps what instances share beside the store: on connections of its own. */
import type { InstanceDatabase } from '../sql/instances.ts'
import { done, type Row, type Statement, type Work } from '../sql/statement.ts'
import { DEFAULT_SETTINGS, dialerOf } from './connections/client-options.ts'
import { Line } from './connections/line.ts'
import { DIALECT } from './dialect.ts'
import { answering } from './failures.ts'
import { migrating } from './layout/migrate.ts'

/** It names no statements, so a pooler may stand between. */
const SETTINGS = { ...DEFAULT_SETTINGS, pooler: 'transaction' } as const

/** A lost connection must not hold up the next look, or requests with an unknown key, for long. */
const LOOK_SILENCE_MS = 900
/** The texts of a large policy may take so long. */
const SILENCE_MS = 10_000

/** Only versions have long texts: a look doesn't wait behind them. Throws StoreUnavailable. */
export function openInstanceLines(url: string, kind: 'keys' | 'versions'): InstanceDatabase {
  const lineFor = (silenceMs: number) => new Line({ dialer: dialerOf(url, SETTINGS), silenceMs })
  const looks = lineFor(LOOK_SILENCE_MS)
  return new InstanceLines(url, looks, kind === 'keys' ? looks : lineFor(SILENCE_MS))
}

class InstanceLines implements InstanceDatabase {
  readonly dialect = DIALECT
  readonly #url: string
  /** For looks alone: they don't wait behind a text that is read, or a change that is committed. */
  readonly #looks: Line
  readonly #line: Line

  constructor(url: string, looks: Line, line: Line) {
    this.#url = url
    this.#looks = looks
    this.#line = line
  }

  ask(statement: Statement): Promise<readonly Row[]> {
    return answering(() => this.#line.ask(statement))
  }

  look(statement: Statement): Promise<readonly Row[]> {
    return answering(() => this.#looks.ask(statement))
  }

  change(first: Statement, ...others: readonly Statement[]): Promise<readonly Row[]> {
    return answering(() => this.#line.change(first, ...others))
  }

  make(work: () => Work<void>): Promise<void> {
    return answering(() => migrating(this.#url, SETTINGS, (ask) => done(work(), ask)))
  }

  async close(): Promise<void> {
    await Promise.all([this.#looks.close(), this.#line.close()])
  }
}
