/** Checks that the store works: the file is in its place, and a write succeeds. */
import { statSync } from 'node:fs'
import { StoreUnavailable } from '../errors.ts'

/** A write waits for the disk, so the readiness check writes at most this often, however often it is called. */
const BETWEEN_WRITES_MS = 1000
/** A failed write may have waited for a lock and blocked the whole process meanwhile. */
const AFTER_FAILURE_MS = 3000

export class SqliteProbe {
  readonly #file: string | undefined
  readonly #identity: string | undefined
  readonly #write: () => Promise<void>
  #written: Promise<void> = Promise.resolve()
  #due = 0

  /** `file` is open; `write` writes something, durably. */
  constructor(file: string | ':memory:', write: () => Promise<void>) {
    this.#file = file === ':memory:' ? undefined : file
    this.#identity = this.#look()
    this.#write = write
  }

  /** Rejects with StoreUnavailable. */
  async ask(): Promise<void> {
    if (this.#look() !== this.#identity) throw moved(String(this.#file))
    const now = performance.now()
    if (now >= this.#due) {
      this.#due = now + BETWEEN_WRITES_MS
      this.#written = this.#write()
      this.#written.catch(() => {
        this.#due = performance.now() + AFTER_FAILURE_MS
      })
    }
    await this.#written
  }

  #look(): string | undefined {
    return this.#file === undefined ? undefined : identityOf(this.#file)
  }
}

/** Another one for another file under the same name; undefined without a file. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

export function moved(file: string): StoreUnavailable {
  return new StoreUnavailable(
    new Error(`the database ${file} was moved, deleted or replaced; put it back, or start the server again`),
  )
}
