/**
 * Answers the questions to `/policy/v1/…` as commands do, one at a time. The commands read a copy of the files in force,
 * because those on the disk may be newer, or broken.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import type { Environment } from '../../base/command-process.ts'
import { FileError } from '../../base/diagnostic.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { Problem } from '../../base/problems/problem.ts'
import { UnderWay } from '../../base/under-way.ts'
import type { Config } from '../../config/config.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import { secretsHiddenOf } from '../../present/without-secrets.ts'
import type { JsonObject, SourceText } from '../../resources/schema/schema-file.ts'
import { TooManyReads } from '../../store/errors.ts'
import { Turns } from '../../store/lists/turns.ts'
import { readDatabaseUrl } from '../../store/open.ts'
import { tooManyUnderWay } from '../slices.ts'
import { CommandRunner, type RunnerOptions, tooLong } from './command-runner.ts'
import { followDecisions } from './follow-decisions.ts'
import type { PolicyQuestions } from './policy-questions.ts'
import { type CommandLine, commandOf, diffOf, type QuestionBody } from './question-commands.ts'
import type { FromProcess } from './question-messages.ts'

/** The most questions under way: all but one wait. */
const MOST = { ofCaller: 6, ofAll: 24 } as const

/** A question that waits longer for its turn is refused. */
const WAIT_MS = 60_000
const MOST_FOLLOWING = { ofCaller: 4, ofAll: 32 } as const

/** Of the logs of this server. */
const OF_LOGS: ReadonlySet<string> = new Set(['usage', 'replay'])

export interface QuestionOptions extends Omit<RunnerOptions, 'onEnd'> {
  /** What the commands see, beside the settings of the server; that of this process when not given. */
  readonly environment?: Environment
}

interface QuestionParts extends QuestionOptions {
  readonly config: Config
  readonly policy: Pick<LivePolicy, 'active' | 'sources' | 'faults'>
  /** The schema files of the resources. */
  readonly schemas: readonly SourceText[]
}

export class Questions implements PolicyQuestions {
  readonly #parts: QuestionParts
  readonly #underWay = new UnderWay(MOST, () => tooManyUnderWay('questions about the policy'))
  readonly #following = new UnderWay(MOST_FOLLOWING, () => tooManyUnderWay('streams of decisions'))
  readonly #draining = new AbortController()
  /** One question at a time, callers in turn. */
  readonly #turns = new Turns({ ofCaller: 1, ofAll: 1 }, WAIT_MS)
  readonly #runner: CommandRunner
  #folder: Promise<string> | undefined
  /** The revision whose files the folder has. */
  #copied: string | undefined

  constructor(parts: QuestionParts) {
    this.#parts = parts
    const onEnd = () => {
      // The copy may be deleted while nobody asks.
      this.#copied = undefined
    }
    this.#runner = new CommandRunner({ ...parts, onEnd })
  }

  get isPublished(): boolean {
    return this.#parts.config.policies === DATABASE_POLICIES
  }

  async answer(name: string, asked: QuestionBody, caller: string, gone: AbortSignal): Promise<string> {
    if (name === 'files') return JSON.stringify(this.#files())
    const work = () => {
      if (name === 'draft') return this.#draft(asked, gone)
      return name === 'version' ? this.#version(asked, gone) : this.#ofCommand(name, asked, gone)
    }
    try {
      return await this.#underWay.run(caller, () => this.#turns.run({ whose: caller, gone: () => gone }, work))
    } catch (error) {
      throw error instanceof TooManyReads ? tooLong() : error
    }
  }

  follow(asked: QuestionBody, caller: string, gone: AbortSignal): AsyncIterable<string> {
    const { file } = this.#parts.config.decisionLog
    if (file === undefined) throw noLogFile()
    const ends = AbortSignal.any([gone, this.#draining.signal, AbortSignal.timeout(Number(asked.seconds) * 1000)])
    return leaving(followDecisions(file, asked, ends), this.#following.enter(caller), ends)
  }

  /** Ends what would keep connections open. */
  drain(): void {
    this.#draining.abort()
  }

  async close(): Promise<void> {
    this.drain()
    this.#runner.end()
    const folder = await this.#folder?.catch(() => undefined)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }

  async #ofCommand(name: string, asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const { config } = this.#parts
    const logs = OF_LOGS.has(name) ? { logs: await logsOf(config) } : {}
    const folder = await this.#inForce()
    const draft = asked.files === undefined ? undefined : await this.#writeDraft(folder, asked)
    const lineIn = (place: string | undefined) =>
      commandOf(name, { ...asked, ...logs, ...(place && { folder: place }) })
    const line = lineIn(draft)
    const policies = line.ofFolder || this.isPublished ? config.policies : join(folder, 'policies')
    const { shown } = lineIn(draft && 'draft')
    return answerText({ ...line, shown: withoutFolders(shown, config) }, await this.#run(line.argv, policies, gone))
  }

  /** The files of a version, or of a proposal, beside what the command says. */
  async #version(asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const folder = join(await this.#inForce(), 'version')
    await rm(folder, { recursive: true, force: true })
    const line = commandOf('version', { ...asked, folder })
    const { shown } = commandOf('version', { ...asked, folder: 'version' })
    const said = await this.#run(line.argv, this.#parts.config.policies, gone)
    const names = (await readdir(folder)).toSorted()
    const texts = await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')]))
    const result = { ...JSON.parse(said.stdout), files: Object.fromEntries(texts) }
    return answerText({ ...line, shown }, { ...said, stdout: JSON.stringify(result) })
  }

  /** The findings of a copy of the files in force with changes, and what the changes mean. */
  async #draft(asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const folder = await this.#inForce()
    const draft = await this.#writeDraft(folder, asked)
    const line = commandOf('check', {})
    const checked = await this.#run(line.argv, draft, gone)
    const check = answerText({ ...line, shown: 'sallyport policy check draft' }, checked)
    if (JSON.parse(checked.stdout).errors > 0) return `{"check":${check},"diff":null}`
    const compared = await this.#run(diffOf(join(folder, 'policies'), draft), draft, gone)
    const shown = { ...line, shown: 'sallyport policy diff policies draft' }
    return `{"check":${check},"diff":${answerText(shown, compared)}}`
  }

  /** Beside the copy that it changes, in `folder`. */
  async #writeDraft(folder: string, asked: QuestionBody): Promise<string> {
    const draft = join(folder, 'draft')
    await rm(draft, { recursive: true, force: true })
    await cp(join(folder, 'policies'), draft, { recursive: true })
    for (const [name, text] of Object.entries(asked.files as Readonly<Record<string, string | null>>)) {
      const file = join(draft, name)
      await (text === null ? rm(file, { force: true }) : writeFile(file, text))
    }
    return draft
  }

  #files(): JsonObject {
    const { policy, schemas } = this.#parts
    return {
      revision: policy.active.revision,
      source: this.isPublished ? 'published' : 'folder',
      faults: policy.faults.map((fault) => withoutFolders(faultText(fault), this.#parts.config)),
      files: this.#texts(),
      schemas: Object.fromEntries(schemas.map(({ name, text }) => [basename(name), text])),
    }
  }

  #texts(): Readonly<Record<string, string>> {
    const { files, blocked } = this.#parts.policy.sources
    return Object.fromEntries([...Object.values(files), blocked].map(({ name, text }) => [basename(name), text]))
  }

  /** A folder with a copy of the files in force, in `policies`. */
  async #inForce(): Promise<string> {
    const folder = await this.#temporary()
    const { revision } = this.#parts.policy.active
    if (this.#copied === revision) return folder
    this.#copied = undefined
    // Systems delete what stood in it for days.
    await makeFolder(folder)
    await rm(join(folder, 'policies'), { recursive: true, force: true })
    await mkdir(join(folder, 'policies'))
    for (const [name, text] of Object.entries(this.#texts())) await writeFile(join(folder, 'policies', name), text)
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

  /** Throws Problem question-refused, for what a command refuses, and read-too-long. */
  async #run(argv: readonly string[], policies: string, gone: AbortSignal): Promise<FromProcess> {
    const { config, environment = process.env } = this.#parts
    const env = {
      ...environment,
      DATABASE_URL: databaseUrlOf(config, environment),
      NO_COLOR: '1',
      POLICIES: policies,
      SCHEMAS: config.schemas,
      DATA_DIR: config.dataDirectory,
    }
    const answer = await this.#runner.run({ argv, env }, gone)
    const folder = await this.#folder
    const shown = (text: string) =>
      withoutFolders(folder === undefined ? text : text.replaceAll(`${folder}/`, ''), config)
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

/** Undefined where the server has another database than this environment names. */
function databaseUrlOf({ database }: Config, { DATABASE_URL }: Environment): string | undefined {
  const named = DATABASE_URL ? readDatabaseUrl(DATABASE_URL) : undefined
  return named && !('fault' in named) && named.location === database.location ? DATABASE_URL : undefined
}

/** Where the folders of a server are is for its operators alone. */
function withoutFolders(text: string, { policies, schemas, dataDirectory }: Config): string {
  const known = Object.entries({ policies, schemas, data: dataDirectory })
  return known.reduce((shown, [name, folder]) => {
    return isAbsolute(folder) ? shown.replaceAll(`${folder}/`, `${name}/`) : shown
  }, text)
}

function faultText(fault: unknown): string {
  return fault instanceof FileError ? fault.message : 'The files could not be read; the log of the server says why.'
}

async function logsOf({ decisionLog: { file } }: Config): Promise<readonly string[]> {
  const files = file === undefined ? [] : await filesOfLog(file)
  if (files.length > 0) return files
  throw noLogFile()
}

/** Calls `leave` when the events end, whoever ends them; at the end of their time, if nobody has begun to read. */
function leaving(events: AsyncGenerator<string>, leave: () => void, ends: AbortSignal): AsyncGenerator<string> {
  let hasBegun = false
  const unread = () => {
    if (!hasBegun) leave()
  }
  if (ends.aborted) unread()
  else ends.addEventListener('abort', unread, { once: true })
  return (async function* () {
    if (ends.aborted) return
    hasBegun = true
    try {
      yield* events
    } finally {
      leave()
    }
  })()
}

function noLogFile(): Problem {
  return new Problem('question-refused', 'The decision log of this server is no file; search it where it is collected.')
}

/** A sentence of a command as the detail of a problem. */
function refused(sentence: string): Problem {
  return new Problem('question-refused', `The command says: ${sentence}${/[.!?]$/.test(sentence) ? '' : '.'}`)
}

function answerText({ shown, lines }: CommandLine, { code, stdout }: FromProcess): string {
  const result = lines ? `{"records":[${stdout.trim().split('\n').filter(isRecord).join(',')}]}` : stdout.trim()
  return `{"command":${JSON.stringify(shown)},"findings":${code === 1},"result":${result}}`
}

/** A command that finds none prints an empty list. */
function isRecord(line: string): boolean {
  return line !== '' && line !== '[]'
}
