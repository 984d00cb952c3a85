/**
 * Keeps the number of the version in force beside the keys of the instance: somebody who deletes newer versions from
 * the database can't make a restarted instance take an older one.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { replaceFile } from '../../tools/release/folder/durable-file.ts'

const FILE = 'policy-sequence'

export class KeptSequence {
  readonly #file: string
  readonly #log: Logger
  /** One number after the other, so that the last one stays. */
  #turn = Promise.resolve()

  constructor(dataDirectory: string, log: Logger) {
    this.#file = join(dataDirectory, FILE)
    this.#log = log
  }

  /** 0 before the first version. */
  async read(): Promise<number> {
    const text = await readFile(this.#file, 'utf8').catch(() => '')
    return /^\d{1,15}\n$/.test(text) ? Number(text) : 0
  }

  /** Never rejects: a full disk must not keep a version from being in force. */
  keep(sequence: number): Promise<void> {
    this.#turn = this.#turn.then(() => this.#write(sequence))
    return this.#turn
  }

  /** Resolves when all numbers are kept that were given before. */
  close(): Promise<void> {
    return this.#turn
  }

  async #write(sequence: number): Promise<void> {
    try {
      if (sequence > (await this.read())) await replaceFile(this.#file, `${sequence}\n`, 0o600)
    } catch (error) {
      this.#log.warn({ err: error, file: this.#file }, "the number of the policy in force can't be kept")
    }
  }
}
