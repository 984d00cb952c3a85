/**
 * Keeps the number of the version in force, and the id of its database, beside the keys of the instance: somebody who
 * writes to the database can't make a restarted instance take an older version, or one of another database.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { replaceFile } from '../../base/files/durable-file.ts'
import type { KeptVersion } from '../../policy/published/published-source.ts'

const FILE = 'policy-sequence'
/** Earlier versions of sallyport wrote no id. */
const CONTENT = /^(?<sequence>\d{1,15})\n(?:(?<database>\S{1,100})\n)?$/

export class KeptSequence {
  readonly #file: string
  readonly #log: Logger
  /** One number after the other, so that the last one stays. */
  #turn = Promise.resolve()

  constructor(dataDirectory: string, log: Logger) {
    this.#file = join(dataDirectory, FILE)
    this.#log = log
  }

  async read(): Promise<KeptVersion> {
    const text = await readFile(this.#file, 'utf8').catch(() => '')
    const { sequence = 0, database } = CONTENT.exec(text)?.groups ?? {}
    return { sequence: Number(sequence), database }
  }

  /** Never rejects: a full disk must not keep a version from being in force. */
  keep(followed: KeptVersion): Promise<void> {
    this.#turn = this.#turn.then(() => this.#write(followed))
    return this.#turn
  }

  /** Resolves when all numbers are kept that were given before. */
  close(): Promise<void> {
    return this.#turn
  }

  async #write({ sequence, database }: KeptVersion): Promise<void> {
    try {
      const kept = await this.read()
      if (sequence <= kept.sequence && kept.database !== undefined) return
      const lines = [Math.max(sequence, kept.sequence), database]
      await replaceFile(this.#file, `${lines.join('\n')}\n`, 0o600)
    } catch (error) {
      this.#log.warn({ err: error, file: this.#file }, "the number of the policy in force can't be kept")
    }
  }
}
