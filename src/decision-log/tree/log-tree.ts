/**
 * Proves that the decision log stays as it was written: its lines are the leaves of a Merkle tree, and a key signs the
 * root of the tree, each second in which there are new lines. The tree reads what the log file got, so no request waits
 * for it, and the lines of several processes that share a log are in one tree.
 */
import { randomBytes } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { replaceFile } from '../../base/files/durable-file.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import type { LogCheckpoints } from '../../store/contract.ts'
import { type FileLock, lockFile } from '../../store/sql/file-lock.ts'
import type { LogFollower } from '../log-files.ts'
import { signedText } from '../sealed-line.ts'
import { findPlace } from './find-place.ts'
import { GrowingTree } from './growing-tree.ts'
import {
  type CheckpointReason,
  History,
  type HistoryEntry,
  historyEntries,
  readNewest,
  writeNewest,
} from './history.ts'
import { changeKey, type LogKey, makeKey, readKey, removeKeys } from './log-key.ts'
import { leafHash, type TreeHash } from './merkle.ts'
import { readIfThere } from './read-if-there.ts'
import { keptElsewhere, signedHistory } from './signed-history.ts'
import { type Checkpoint, checkpointText, keyText } from './signed-note.ts'
import {
  minimumOf,
  removePartial,
  removeTilesBefore,
  TILE_HASHES,
  type Tile,
  TileTree,
  UnusableTile,
  writeTile,
} from './tiles.ts'

const EVERY_MS = 1000
/** A server that stops doesn't wait for all of an old log. */
const LAST_ROUND_MS = 5000
const DAY_MS = 86_400_000
/** The first round of an old log has much to read; it is checkpointed in parts. */
const MOST_UNSIGNED = 100_000

export type LogTreeEvent =
  /** This process signs from now on, with this key (`keyText`). */
  | { readonly kind: 'signs'; readonly key: string }
  | { readonly kind: 'failing'; readonly error: unknown }
  | { readonly kind: 'working' }

export interface LogTreeOptions {
  /** The decision log. */
  readonly file: string
  /** The number of full files that the log keeps beside the one that grows. */
  readonly keep: number
  /** The name of this instance: a part of the name of the log's tree. */
  readonly instance: string
  readonly now: () => Date
  /** Keeps the newest checkpoint, too. */
  readonly database: LogCheckpoints
  readonly report: (event: LogTreeEvent) => void
  readonly everyMs?: number
}

/** A tree that doesn't fit its own checkpoint, or that of the database, was put aside; the log has a new one. */
class TreePutAside extends Error {
  constructor(folder: string) {
    super(
      `the tree of the decision log was damaged, or is an older copy; it is kept as ${folder}, and a new one begins`,
    )
    this.name = 'TreePutAside'
  }
}

export function treeFolder(log: string): string {
  return `${log}.tree`
}

/** The first leaf of each file of the log. */
const STARTS = 'starts'

export interface LogTree {
  /** Of several processes that share a log, one keeps its tree. Stays as it is after the close. */
  readonly isKept: boolean
  /** To be called when the log is closed: takes its last lines, and signs. */
  close(): Promise<void>
}

export function startLogTree(options: LogTreeOptions): LogTree {
  const keeper = new TreeKeeper(options)
  let isFailing = false
  let running: Promise<void> | undefined
  const told = (event: Exclude<LogTreeEvent, { kind: 'signs' }>) => {
    const isNew = isFailing !== (event.kind === 'failing')
    isFailing = event.kind === 'failing'
    if (isNew) options.report(event)
  }
  const round = (why: CheckpointReason) => {
    running ??= keeper
      .round(why)
      .then(
        () => told({ kind: 'working' }),
        (error: unknown) => told({ kind: 'failing', error }),
      )
      .finally(() => {
        running = undefined
      })
    return running
  }
  const timer = setInterval(() => round('time'), options.everyMs ?? EVERY_MS)
  timer.unref()
  return {
    get isKept() {
      return keeper.isKept
    },
    async close() {
      clearInterval(timer)
      await running
      await round('stop')
      await keeper.close()
    },
  }
}

interface OpenTree {
  readonly lock: FileLock
  readonly history: History
  readonly tree: GrowingTree
  readonly follower: LogFollower
  key: LogKey
  /** When the key began to sign, milliseconds since the epoch. */
  keySince: number
  /** The first leaf of each file of the log, the oldest one first; undefined once a file was moved away. */
  starts: readonly number[] | undefined
  /** The size of the newest checkpoint. */
  signed: number
  /** The size of the checkpoint in the database; undefined before the first one. */
  keptElsewhere: number | undefined
  /** The tiles that aren't full, as they were written last. */
  partial: readonly Tile[]
  /** Full tiles that no file has yet. */
  unwritten: readonly Tile[]
}

type FollowedPlace = 'at the end' | 'lost the place'

/** One process at a time keeps the tree of a log. */
class TreeKeeper {
  readonly #options: LogTreeOptions
  readonly #folder: string
  #open: OpenTree | undefined
  isKept = false

  constructor(options: LogTreeOptions) {
    this.#options = options
    this.#folder = treeFolder(options.file)
  }

  /** A place that was lost is looked for as at the start. */
  async round(why: CheckpointReason): Promise<void> {
    if ((await this.#attempt(why)) === 'at the end') return
    await this.close()
    await this.#attempt(why)
  }

  async #attempt(why: CheckpointReason): Promise<FollowedPlace> {
    if (this.#open && !(await this.#open.history.isInPlace())) await this.close()
    const isNew = this.#open === undefined
    this.#open ??= await this.#take()
    this.isKept = this.#open !== undefined
    if (!this.#open) return 'at the end'
    // A server that couldn't start says only why.
    if (isNew && why !== 'stop') this.#options.report({ kind: 'signs', key: keyText(this.#open.key.verifier) })
    const place = await this.#readOn(this.#open, why)
    await this.#sign(this.#open, why)
    await this.#keepElsewhere(this.#open)
    return place
  }

  async close(): Promise<void> {
    const closing = this.#open
    this.#open = undefined
    await closing?.follower[Symbol.asyncDispose]()
    await closing?.history.close()
    await closing?.lock.release()
  }

  /** Reads what the log got since. A disk that takes no tiles leaves no more unsigned than fits the memory. */
  async #readOn(kept: OpenTree, why: CheckpointReason): Promise<FollowedPlace> {
    const until = performance.now() + (why === 'stop' ? LAST_ROUND_MS : EVERY_MS)
    while (performance.now() < until) {
      if (kept.tree.size - kept.signed > MOST_UNSIGNED) await this.#sign(kept, why)
      const lines = await kept.follower.next()
      if (lines === 'nothing new') break
      if (lines === 'file was rewritten') return 'lost the place'
      if (typeof lines === 'string') await this.#beginFile(kept, lines === 'next file')
      else for (const line of lines) kept.tree.add(leafHash(signedText(line)))
      // Requests go first.
      await setImmediate()
    }
    return 'at the end'
  }

  /** The log deletes its oldest files; those that were moved away are somebody's who deletes their hashes, too. */
  async #beginFile(kept: OpenTree, isKept: boolean): Promise<void> {
    await this.#sign(kept, 'rotation')
    const starts = isKept && kept.starts ? [...kept.starts, kept.tree.size].slice(-1 - this.#options.keep) : undefined
    await replaceFile(join(this.#folder, STARTS), JSON.stringify(starts ?? null), 0o600)
    kept.starts = starts
    if (starts) await removeTilesBefore(this.#folder, starts[0] ?? 0)
  }

  async #sign(kept: OpenTree, why: CheckpointReason): Promise<void> {
    const { tree } = kept
    const now = this.#options.now()
    // A clock may have been set back.
    const isKeyOld = Math.abs(now.getTime() - kept.keySince) >= DAY_MS
    if (tree.size === (isKeyOld ? 0 : kept.signed)) return
    // What a checkpoint promises must survive a loss of power.
    await kept.follower.sync()
    await this.#writeTiles(kept)
    if (isKeyOld) await this.#changeKey(kept, now)
    const { name: origin } = kept.key.verifier
    const note = kept.key.sign(checkpointText({ origin, size: tree.size, root: tree.root() }))
    await kept.history.add({ time: now.toISOString(), kind: 'checkpoint', why, note })
    await writeNewest(this.#folder, note)
    kept.signed = tree.size
    await this.#removeOlder(kept)
  }

  /** The tree has it first: a checkpoint that the tree lacks would mean that it was cut. */
  async #keepElsewhere(kept: OpenTree): Promise<void> {
    if (kept.signed === 0 || kept.keptElsewhere === kept.signed) return
    const { signed } = kept
    const newest = await readNewest(this.#folder)
    if (!newest) return
    // A database that doesn't answer is told elsewhere; the next round tries again.
    const isKept = await this.#options.database.keepCheckpoint(kept.key.verifier.name, newest.note).then(
      () => true,
      () => false,
    )
    if (isKept) kept.keptElsewhere = signed
  }

  async #writeTiles(kept: OpenTree): Promise<void> {
    kept.unwritten = [...kept.unwritten, ...kept.tree.takeFull()]
    for (const tile of [...kept.unwritten, ...kept.tree.partial()]) await writeTile(this.#folder, tile)
    kept.unwritten = []
  }

  /** Only now: until the new checkpoint stood there, the one before it needed them. */
  async #removeOlder(kept: OpenTree): Promise<void> {
    const now = kept.tree.partial()
    for (const tile of kept.partial) {
      const same = now.find(({ level, number }) => level === tile.level && number === tile.number)
      if (same?.hashes.length !== tile.hashes.length) await removePartial(this.#folder, tile, same === undefined)
    }
    kept.partial = now
  }

  async #changeKey(kept: OpenTree, now: Date): Promise<void> {
    const time = now.toISOString()
    const signed = { size: kept.tree.size, root: kept.tree.root() }
    try {
      kept.key = await changeKey(this.#folder, kept.key, signed, (note) =>
        kept.history.add({ time, kind: 'next-key', note }),
      )
    } catch (error) {
      // The next round reads which of the two keys is the announced one.
      await this.close()
      throw error
    }
    kept.keySince = now.getTime()
    await kept.history.thin(now.getTime() - DAY_MS)
  }

  /** Undefined while another process keeps the tree. */
  async #take(): Promise<OpenTree | undefined> {
    await makeFolder(this.#folder)
    const lock = await lockFile(join(this.#folder, 'lock'))
    if (!lock) return undefined
    try {
      return await this.#begin(lock)
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  async #begin(lock: FileLock): Promise<OpenTree> {
    const entries = (await historyEntries(this.#folder)) ?? []
    const known = entries.length > 0 ? await this.#readOwn(entries) : undefined
    if (entries.length > 0 && !known) {
      const aside = `${this.#folder}.${this.#options.now().toISOString().replaceAll(':', '')}`
      await rename(this.#folder, aside)
      await removeKeys(aside)
      // The next round begins anew.
      throw new TreePutAside(aside)
    }
    // A handle that nobody closes ends the process when it is collected.
    await using opened = new AsyncDisposableStack()
    const history = opened.adopt(await History.open(this.#folder), (one) => one.close())
    const { key, keySince, tiles } = known ?? (await this.#makeOwn(history))
    const tree = new GrowingTree(tiles.size, endsOf(tiles))
    const noted = known ? await this.#readStarts() : [0]
    // The hashes of the newest records are always kept.
    const minimum = Math.min(await minimumOf(this.#folder), tiles.startOfLastTile)
    const { follower, hasNewest } = await findPlace(this.#options.file, { tiles, minimum, starts: noted ?? [] })
    opened.move()
    const starts = hasNewest ? noted : undefined
    const made = { lock, history, tree, follower, key, keySince, starts }
    return { ...made, signed: tree.size, keptElsewhere: undefined, partial: tree.partial(), unwritten: [] }
  }

  async #readStarts(): Promise<readonly number[] | undefined> {
    const text = (await readIfThere(join(this.#folder, STARTS))) ?? '[0]'
    return /^\[\d+(?:,\d+)*\]$/.test(text) ? JSON.parse(text) : undefined
  }

  async #makeOwn(history: History): Promise<OwnTree> {
    const origin = `sallyport/${this.#options.instance.replace(/[^\w.:-]/g, '-')}/${randomBytes(8).toString('hex')}`
    const key = await makeKey(this.#folder, origin)
    const now = this.#options.now()
    await history.add({ time: now.toISOString(), kind: 'key', key: keyText(key.verifier) })
    return { key, keySince: now.getTime(), tiles: new TileTree(this.#folder, 0) }
  }

  /** Undefined if it doesn't fit itself. */
  async #readOwn(entries: readonly (HistoryEntry | undefined)[]): Promise<OwnTree | undefined> {
    // A day has a thousand checkpoints, and a signature takes a tenth of a millisecond.
    const needed = entries.filter((entry, at) => entry?.kind !== 'checkpoint' || at === entries.length - 1)
    const history = signedHistory(needed, await readNewest(this.#folder))
    const newestKey = history?.keys.at(-1)
    if (!history || !newestKey) return undefined
    const newest = history.checkpoints.at(-1)
    const key = await readKey(this.#folder, history.origin, keyText(newestKey))
    const tiles = new TileTree(this.#folder, newest?.size ?? 0)
    const inDatabase = await this.#options.database.checkpointOf(history.origin)
    const elsewhere = inDatabase === undefined ? undefined : keptElsewhere(inDatabase, history)
    // An older copy doesn't know the keys of today.
    if (inDatabase !== undefined && !elsewhere) return undefined
    const minimum = await minimumOf(this.#folder)
    // A database that was restored may have one of records whose hashes were deleted.
    const compared = [newest, elsewhere].filter((one) => one !== undefined && one.size >= minimum)
    if (!key || !compared.every((one) => !one || fits(tiles, one))) return undefined
    const since = entries.findLast((entry) => entry?.kind !== 'checkpoint')?.time
    return { key, keySince: Date.parse(since ?? ''), tiles }
  }
}

interface OwnTree extends Pick<OpenTree, 'key' | 'keySince'> {
  readonly tiles: TileTree
}

function fits(tiles: TileTree, { size, root }: Checkpoint): boolean {
  try {
    return size <= tiles.size && tiles.root(size) === root
  } catch (error) {
    if (error instanceof UnusableTile) return false
    throw error
  }
}

function endsOf(tiles: TileTree): readonly (readonly TreeHash[])[] {
  const ends: (readonly TreeHash[])[] = []
  for (let level = 0; TILE_HASHES ** level <= tiles.size; level++) ends.push(tiles.partial(level))
  return ends
}
