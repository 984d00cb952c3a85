/** Answers the questions to `/policy/v1/…` as commands do: those that run matrices at one place, all others at another. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FileError } from '../../base/diagnostic.ts'
import { Problem } from '../../base/problems/problem.ts'
import { UnderWay } from '../../base/under-way.ts'
import type { Config } from '../../config/config.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { JsonObject, SourceText } from '../../resources/schema/schema-file.ts'
import { TooManyReads } from '../../store/errors.ts'
import { tooManyUnderWay } from '../slices.ts'
import { followDecisions } from './follow-decisions.ts'
import { runMatrices, runsMatrices } from './matrix-questions.ts'
import type { PolicyQuestions } from './policy-questions.ts'
import { answerJson, bringsFiles, commandOf, diffOf, type QuestionBody } from './question-commands.ts'
import { type PlaceOptions, Workplace, withoutFolders } from './workplace.ts'

/** The most questions under way: all but one of a place wait. */
const MOST = { ofCaller: 6, ofAll: 24 } as const
const MOST_FOLLOWING = { ofCaller: 4, ofAll: 32 } as const

/** For a question, its turn included. The server ends connections that are silent for a minute (http-server.ts). */
const PATIENCE_MS = 55_000

/** Of the logs of this server. */
const OF_LOGS: ReadonlySet<string> = new Set(['usage', 'replay'])

export interface QuestionOptions extends PlaceOptions {
  readonly patienceMs?: number
}

interface QuestionParts extends QuestionOptions {
  readonly config: Config
  readonly policy: Pick<LivePolicy, 'active' | 'sources' | 'faults'>
  /** When this process began to decide by it, in milliseconds since the epoch. */
  readonly since: () => number
  /** The schema files of the resources. */
  readonly schemas: readonly SourceText[]
}

interface AskedAt {
  readonly place: Workplace
  readonly gone: AbortSignal
}

export class Questions implements PolicyQuestions {
  readonly #parts: QuestionParts
  readonly #underWay = new UnderWay(MOST, () => tooManyUnderWay('questions about the policy'))
  readonly #following = new UnderWay(MOST_FOLLOWING, () => tooManyUnderWay('streams of decisions'))
  readonly #draining = new AbortController()
  readonly #place: Workplace
  /** Where matrices run and days are replayed, so that nobody else waits for them. */
  readonly #runs: Workplace

  constructor(parts: QuestionParts) {
    this.#parts = parts
    const placeParts = { ...parts, revision: () => parts.policy.active.revision, texts: () => this.#texts() }
    this.#place = new Workplace(placeParts)
    this.#runs = new Workplace(placeParts)
  }

  get isPublished(): boolean {
    return this.#parts.config.policies === DATABASE_POLICIES
  }

  async answer(name: string, asked: QuestionBody, caller: string, gone: AbortSignal): Promise<string> {
    if (name === 'files') return JSON.stringify(this.#files())
    const late = AbortSignal.timeout(this.#parts.patienceMs ?? PATIENCE_MS)
    const ends = AbortSignal.any([gone, late])
    // A day of the log takes as long as matrices do.
    const place = runsMatrices(name) || name === 'replay' ? this.#runs : this.#place
    const work = () => {
      if (name === 'draft') return this.#draft(asked, ends)
      if (name === 'names') return this.#names(asked, ends)
      if (runsMatrices(name)) return this.#runMatrices(name, asked, ends)
      return name === 'version' ? this.#version(asked, ends) : this.#ofCommand(name, asked, { place, gone: ends })
    }
    try {
      return await this.#underWay.run(caller, () => place.inTurn(caller, ends, work))
    } catch (error) {
      throw error instanceof TooManyReads || error === late.reason ? tooLong() : error
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
    await Promise.all([this.#place.close(), this.#runs.close()])
  }

  async #ofCommand(name: string, asked: QuestionBody, { place, gone }: AskedAt): Promise<string> {
    const { config } = this.#parts
    const logs = OF_LOGS.has(name) ? { logs: await logsOf(config) } : {}
    const folder = await place.inForce()
    const draft = bringsFiles(asked) ? await writeDraft(folder, asked) : undefined
    const lineIn = (candidate: string | undefined) =>
      commandOf(name, { ...asked, ...logs, ...(candidate && { folder: candidate }) })
    const line = lineIn(draft)
    const policies = line.ofFolder || this.isPublished ? config.policies : join(folder, 'policies')
    const { shown } = lineIn(draft && 'draft')
    return answerJson({ ...line, shown: withoutFolders(shown, config) }, await place.run(line.argv, policies, gone))
  }

  /** By the policy in force, or a draft. */
  async #runMatrices(name: string, asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const folder = await this.#runs.inForce()
    const policies = bringsFiles(asked) ? await writeDraft(folder, asked) : join(folder, 'policies')
    const run = (argv: readonly string[]) => this.#runs.run(argv, policies, gone)
    return runMatrices(name, { asked, folder, served: this.#parts.folder ?? process.cwd(), run })
  }

  /** The files of a version, or of a proposal, beside what the command says. */
  async #version(asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const folder = join(await this.#place.inForce(), 'version')
    await rm(folder, { recursive: true, force: true })
    const line = commandOf('version', { ...asked, folder })
    const { shown } = commandOf('version', { ...asked, folder: 'version' })
    const said = await this.#place.run(line.argv, this.#parts.config.policies, gone)
    const names = (await readdir(folder)).toSorted()
    const texts = await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')]))
    const result = { ...JSON.parse(said.stdout), files: Object.fromEntries(texts) }
    return answerJson({ ...line, shown }, { ...said, stdout: JSON.stringify(result) })
  }

  /** The findings of a copy of the files in force with changes, and what the changes mean. */
  async #draft(asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const folder = await this.#place.inForce()
    const draft = await writeDraft(folder, asked)
    const line = commandOf('check', {})
    const checked = await this.#place.run(line.argv, draft, gone)
    const check = answerJson({ ...line, shown: 'sallyport policy check draft' }, checked)
    if (JSON.parse(checked.stdout).errors > 0) return `{"check":${check},"diff":null}`
    const compared = await this.#place.run(diffOf(join(folder, 'policies'), draft), draft, gone)
    const shown = { ...line, shown: 'sallyport policy diff policies draft' }
    return `{"check":${check},"diff":${answerJson(shown, compared)}}`
  }

  /** At a place in a draft. Where its files have faults, the names in force count. */
  async #names(asked: QuestionBody, gone: AbortSignal): Promise<string> {
    const folder = await this.#place.inForce()
    const [before, policies] = ['policies', bringsFiles(asked) ? 'draft' : 'policies']
    if (policies === 'draft') await writeDraft(folder, asked)
    const lineIn = (at: string) => {
      const place = `${join(at, policies, String(asked.file))}:${asked.line}:${asked.column}`
      return commandOf('names', { place, policies: join(at, policies), before: join(at, before) })
    }
    const said = await this.#place.run(lineIn(folder).argv, join(folder, before), gone)
    return answerJson(lineIn(''), said)
  }

  #files(): JsonObject {
    const { policy, since, schemas } = this.#parts
    return {
      revision: policy.active.revision,
      since: new Date(since()).toISOString(),
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
}

/** Beside the copy that it changes, in `folder`. */
async function writeDraft(folder: string, asked: QuestionBody): Promise<string> {
  const draft = join(folder, 'draft')
  await rm(draft, { recursive: true, force: true })
  await cp(join(folder, 'policies'), draft, { recursive: true })
  for (const [name, text] of Object.entries(asked.files as Readonly<Record<string, string | null>>)) {
    const file = join(draft, name)
    await (text === null ? rm(file, { force: true }) : writeFile(file, text))
  }
  return draft
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

function tooLong(): Problem {
  const headers = { 'Retry-After': '10' }
  return new Problem('read-too-long', 'The answer takes too long to make here; ask about less, or run the command.', {
    headers,
  })
}
