/**
 * A place where commands run for questions, one at a time and callers in turn: a process, and a folder with a copy of the
 * files in force, because those on the disk may be newer, or broken.
 */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Environment } from '../../base/command-process.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Config } from '../../config/config.ts'
import { secretsHiddenOf } from '../../present/without-secrets.ts'
import { Turns } from '../../store/lists/turns.ts'
import { readDatabaseUrl } from '../../store/open.ts'
import { CommandRunner, type RunnerOptions } from './command-runner.ts'
import type { FromProcess } from './question-messages.ts'

/** Longer than any question may take (questions.ts). */
const WAIT_MS = 60_000

export interface PlaceOptions extends Omit<RunnerOptions, 'onEnd'> {
  /** What the commands see, beside the settings of the server; that of this process when not given. */
  readonly environment?: Environment
}

interface PlaceParts extends PlaceOptions {
  readonly config: Config
  /** Of the policy in force. */
  readonly revision: () => string
  /** Its files, by name. */
  readonly texts: () => Readonly<Record<string, string>>
}

export class Workplace {
  readonly #parts: PlaceParts
  readonly #turns = new Turns({ ofCaller: 1, ofAll: 1 }, WAIT_MS)
  readonly #runner: CommandRunner
  #folder: Promise<string> | undefined
  /** The revision whose files the folder has. */
  #copied: string | undefined

  constructor(parts: PlaceParts) {
    this.#parts = parts
    const onEnd = () => {
      // The copy may be deleted while nobody asks.
      this.#copied = undefined
    }
    this.#runner = new CommandRunner({ ...parts, onEnd })
  }

  /** Throws TooManyReads, the reason of `gone`, and what the work throws. */
  inTurn<T>(caller: string, gone: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#turns.run({ whose: caller, gone: () => gone }, work)
  }

  async close(): Promise<void> {
    this.#runner.end()
    const folder = await this.#folder?.catch(() => undefined)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }

  /** A folder with a copy of the files in force, in `policies`. Each question begins with it. */
  async inForce(): Promise<string> {
    const folder = await this.#temporary()
    const revision = this.#parts.revision()
    if (this.#copied === revision) return folder
    this.#copied = undefined
    // Systems delete what stood in it for days, and a process that was ended in the middle leaves files.
    await makeFolder(folder)
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
    await mkdir(join(folder, 'policies'))
    await mkdir(temporaryIn(folder))
    for (const [name, text] of Object.entries(this.#parts.texts())) {
      await writeFile(join(folder, 'policies', name), text)
    }
    this.#copied = revision
    return folder
  }

  /** Made again after a failure: a full disk may be full no longer. */
  #temporary(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), `sallyport-questions-${process.pid}-`)).catch((error: unknown) => {
      this.#folder = undefined
      throw error
    })
    return this.#folder
  }

  /** Throws Problem question-refused, for what a command refuses, and the reason of `gone`. */
  async run(argv: readonly string[], policies: string, gone: AbortSignal): Promise<FromProcess> {
    const { config, environment = process.env } = this.#parts
    const folder = await this.#temporary()
    const env = {
      ...environment,
      INSTANCE: config.instance,
      DATABASE_URL: databaseUrlOf(config, environment),
      NO_COLOR: '1',
      POLICIES: policies,
      SCHEMAS: config.schemas,
      DATA_DIR: config.dataDirectory,
      TMPDIR: temporaryIn(folder),
    }
    const answer = await this.#runner.run({ argv, env }, gone)
    const shown = (text: string) => withoutFolders(text.replaceAll(`${folder}/`, ''), config)
    const stderr = shown(secretsHiddenOf(env)(answer.stderr))
    if (answer.isCut)
      throw new Problem('question-refused', 'The answer is too long for here; ask about less, or run the command.')
    if (answer.code !== 2) return { ...answer, stdout: shown(answer.stdout) }
    const sentence = stderr.replace(/^sallyport: /, '').trim()
    // A fault of the program has its stack, which is not for clients.
    if (sentence === '' || /\n {4}at /.test(sentence)) throw new Error(`${argv.join(' ')}: ${sentence}`)
    throw refused(sentence)
  }
}

/** Where commands keep what they need while they run. */
function temporaryIn(folder: string): string {
  return join(folder, 'tmp')
}

/** Undefined where the server has another database than this environment names. */
function databaseUrlOf({ database }: Config, { DATABASE_URL }: Environment): string | undefined {
  const named = DATABASE_URL ? readDatabaseUrl(DATABASE_URL) : undefined
  return named && !('fault' in named) && named.location === database.location ? DATABASE_URL : undefined
}

/** Where the folders of a server are is for its operators alone. */
export function withoutFolders(text: string, { policies, schemas, dataDirectory }: Config): string {
  const known = Object.entries({ policies, schemas, data: dataDirectory })
  return known.reduce((shown, [name, folder]) => {
    return isAbsolute(folder) ? shown.replaceAll(`${folder}/`, `${name}/`) : shown
  }, text)
}

/** A sentence of a command as the detail of a problem. */
function refused(sentence: string): Problem {
  return new Problem('question-refused', `The command says: ${sentence}${/[.!?]$/.test(sentence) ? '' : '.'}`)
}
