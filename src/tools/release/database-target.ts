/** The versions in a database as the target of releases. A version has all files, so blocks make versions too. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import {
  type PublishedVersion,
  signVersion,
  type VersionKeys,
  type VersionSigner,
  versionFile,
} from '../../policy/published/signed-version.ts'
import type { JudgeChange, KnownVersion, VersionTexts } from '../../policy/published/version-chain.ts'
import { LONGEST_SIGNED, type PolicyVersions } from '../../store/policy-versions.ts'
import { ToolError } from '../load-policy.ts'
import { type NewBlock, withBlock, withBlocks, withoutBlock } from './block-lines.ts'
import { describedFiles, type PolicyContent } from './content.ts'
import {
  faultOf,
  faultOfLoss,
  NOTHING_PUBLISHED,
  textsOf,
  type VerifiedHistory,
  verifiedHistory,
} from './published-versions.ts'
import type { ReleaseChange, ReleaseTarget } from './target.ts'
import type { PolicyVersion } from './version.ts'

export interface DatabaseTargetOptions {
  readonly versions: PolicyVersions
  /** Undefined for commands that only read. */
  readonly signer: VersionSigner | undefined
  readonly keys: VersionKeys
  readonly judge: JudgeChange
  readonly trusted?: KnownVersion | undefined
  /** The number of a last version that isn't valid, to publish over it; `any` for commands that only list versions. */
  readonly over?: number | 'any' | undefined
}

const NAME = 'database:'
/** Blocks don't depend on what others publish at the same time, so they are tried again on top of it. */
const MOST_ATTEMPTS = 10

type VersionOrigin = Pick<PublishedVersion, 'kind' | 'reason' | 'of'> & { readonly now: Date }

/** Throws ToolError if the last version isn't valid, StoreUnavailable. */
export async function openDatabaseTarget(options: DatabaseTargetOptions): Promise<ReleaseTarget> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-published-'))
  const target = new DatabaseTarget(options, folder)
  try {
    await target.open()
    return target
  } catch (error) {
    await target.close()
    throw error
  }
}

class DatabaseTarget implements ReleaseTarget {
  readonly name = NAME
  readonly done = 'published'
  readonly folder: string
  readonly #options: DatabaseTargetOptions
  #history: VerifiedHistory = { database: '', versions: [], refused: [], last: 0 }
  /** The texts of the last version. */
  #present: VersionTexts = new Map()

  constructor(options: DatabaseTargetOptions, folder: string) {
    this.#options = options
    this.folder = folder
  }

  async open(): Promise<void> {
    await this.#readLast()
    for (const [name, text] of this.#present) await writeFile(join(this.folder, name), text)
  }

  get refused(): readonly string[] {
    return this.#history.refused.map(({ message }) => message)
  }

  get isEmpty(): boolean {
    return this.#history.last === 0
  }

  async history(): Promise<readonly PolicyVersion[]> {
    return this.#history.versions.map(versionOf)
  }

  async contentOf({ number }: PolicyVersion): Promise<PolicyContent> {
    const version = this.#history.versions.find((one) => one.number === number)
    if (!version) throw new ToolError(`there is no version \`${number}\``)
    return contentOf(await this.#textsOf(version))
  }

  placeOf({ number }: PolicyVersion): string {
    return versionFile(number, '').slice(0, -1)
  }

  async isHeldBack(): Promise<boolean> {
    return false
  }

  async put({ content, blocks, kind, reason, of, now }: ReleaseChange): Promise<PolicyVersion> {
    const blocked = withBlocks(this.#present.get(BLOCKED_FILE) ?? '', blocks)
    const published = await this.#publish(content, blocked, { kind, reason, of, now })
    if (published) return versionOf(published)
    throw new ToolError(
      `another command has published version ${this.#history.last + 1} in the meantime, so nothing was done: ` +
        'run the command again',
    )
  }

  async block(block: NewBlock, now: Date): Promise<'blocked' | 'was-blocked'> {
    const about: VersionOrigin = { kind: 'blocked', reason: aboutBlock(block.id, block.reason), of: undefined, now }
    const changed = await this.#editBlocked(about, (source) => withBlock(source, block, now))
    return changed ? 'blocked' : 'was-blocked'
  }

  async unblock(id: string, now: Date): Promise<number> {
    let count = 0
    await this.#editBlocked({ kind: 'unblocked', reason: aboutBlock(id), of: undefined, now }, (source) => {
      const { text, removed } = withoutBlock(source, id)
      count = removed
      return removed > 0 ? text : undefined
    })
    return count
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
    await this.#options.versions.close()
  }

  /** Whether `edit` changed anything. */
  async #editBlocked(
    about: VersionOrigin,
    edit: (source: { readonly name: string; readonly text: string }) => string | undefined,
  ): Promise<boolean> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      if (this.isEmpty) throw new ToolError(NOTHING_PUBLISHED)
      const name = versionFile(this.#history.last, BLOCKED_FILE)
      const blocked = edit({ name, text: this.#present.get(BLOCKED_FILE) ?? '' })
      if (blocked === undefined) return false
      if (await this.#publish(contentOf(this.#present), blocked, about)) return true
      await this.#readLast()
    }
    throw new ToolError('other commands keep publishing versions: try again')
  }

  async #publish(
    content: PolicyContent,
    blocked: string,
    { now, ...about }: VersionOrigin,
  ): Promise<PublishedVersion | undefined> {
    const { versions, signer } = this.#options
    const [needs, recovers] = [this.#present.has('approvals.yaml'), about.kind === 'recovered']
    if (needs && !recovers) throw new ToolError(NEEDS_APPROVALS)
    if (recovers && !needs) throw new ToolError('the version in force asks for no approvals: leave --recover out')
    if (!signer) throw new ToolError('POLICY_SIGNING_KEY is not set: set it to a file with a private Ed25519 key')
    const { described, texts } = describedFiles(content, blocked)
    const version: PublishedVersion = {
      number: this.#history.last + 1,
      database: this.#history.database,
      time: now.toISOString(),
      user: userInfo().username,
      ...about,
      ...described,
    }
    const signed = await signVersion(version, signer)
    if (signed.length > LONGEST_SIGNED) throw new ToolError('the reason is too long for a version: shorten it')
    return (await versions.publish({ number: version.number, signed, files: texts })) ? version : undefined
  }

  /** Throws ToolError if the last version isn't valid, or an instance has a later one: their blocks would be lost. */
  async #readLast(): Promise<void> {
    const { over, ...signed } = this.#options
    // Asked before the versions, which only grow: an instance has no later one then.
    const notes = await signed.versions.instances()
    this.#history = await verifiedHistory({ ...signed, now: Date.now })
    const { last, refused } = this.#history
    const present = this.#history.versions.at(-1)
    let invalid = last > 0 && present?.number !== last ? refused.at(-1) : undefined
    try {
      this.#present = present ? await textsOf(signed.versions, present) : new Map()
    } catch (error) {
      invalid ??= faultOf(error)
      this.#present = new Map()
    }
    if (over === last || over === 'any') return
    if (invalid !== undefined) throw notValid(last, invalid)
    const loss = faultOfLoss(notes, last)
    if (loss !== undefined) throw new ToolError(loss)
  }

  async #textsOf(version: PublishedVersion): Promise<VersionTexts> {
    try {
      return await textsOf(this.#options.versions, version)
    } catch (error) {
      throw new ToolError(`${faultOf(error).message}: choose another version of \`sallyport policy history\``)
    }
  }
}

const NEEDS_APPROVALS =
  'the version in force asks for approvals (approvals.yaml), so nothing was done: use `sallyport policy propose`, or give ' +
  '--key to `block` and `unblock`; if too many keys are lost, `sallyport policy apply --recover` with a key of POLICY_PUBLIC_KEYS'

function notValid(last: number, { message, code }: Diagnostic): ToolError {
  const first = FIRST_ADVICE.get(code)
  return new ToolError(
    `${message}, so nothing was done: ${first === undefined ? '' : `${first}; otherwise `}find out who ` +
      `writes to the database, and ${last > MOST_OVER ? DELETE : overBy(last)}`,
  )
}

/** `--over` takes no greater number: no publisher has counted so far. */
const MOST_OVER = 999_999

const DELETE = 'delete the version from its table `policy_versions`'

function overBy(last: number): string {
  return `publish over it, with the blocks that it had, by \`sallyport policy apply DIR --to database: --over ${last}\``
}

/** What to do before somebody publishes over a version, by the code of its fault. */
const FIRST_ADVICE: ReadonlyMap<string, string> = new Map([
  ['version-key', 'if you trust its key, add the key to POLICY_PUBLIC_KEYS'],
  ['version-unknown', 'if a later version of sallyport published it, use that one here too'],
])

function versionOf({ files, ...version }: PublishedVersion): PolicyVersion {
  return { ...version, reason: version.reason, of: version.of }
}

function contentOf(texts: VersionTexts): PolicyContent {
  const rules = [...texts].filter(([name]) => name !== BLOCKED_FILE)
  return new Map(rules.map(([name, text]) => [name, Buffer.from(text)]))
}

function aboutBlock(id: string, reason?: string): string {
  return `user:${id}${reason === undefined ? '' : `: ${reason}`}`
}
