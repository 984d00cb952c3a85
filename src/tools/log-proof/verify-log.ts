/** Compares the lines of a decision log with the tree that its server signed, and says what isn't as it was written. */
import { open } from 'node:fs/promises'
import { linesToTheEnd } from '../../decision-log/log-files.ts'
import { isHalfErased, personalParts, signedText } from '../../decision-log/sealed-line.ts'
import { leafHash, type TreeHash } from '../../decision-log/tree/merkle.ts'
import type { SignedCheckpoint, SignedHistory } from '../../decision-log/tree/signed-history.ts'
import type { Checkpoint } from '../../decision-log/tree/signed-note.ts'
import { minimumOf, TileTree, UnusableTile } from '../../decision-log/tree/tiles.ts'
import type { OutsideCheckpoint } from './tree-of-log.ts'

/** The numbers of records count from 0, in the order of the log since its tree began. */
export type LogFault =
  /** This line isn't the record that was signed, or isn't a record that was. */
  | { readonly kind: 'changed'; readonly record: number; readonly place: string }
  | { readonly kind: 'added'; readonly place: string }
  /** `to`: the last one. `isEnd`: nothing that was signed comes after them. */
  | { readonly kind: 'missing'; readonly from: number; readonly to: number; readonly isEnd: boolean }
  /** The tree of the newest checkpoint says otherwise about the records that this one has signed. */
  | { readonly kind: 'rewritten'; readonly checkpoint: SignedCheckpoint | OutsideCheckpoint }
  /** The log was cut with its tree: a checkpoint that stands elsewhere has signed more records. */
  | { readonly kind: 'cut'; readonly checkpoint: OutsideCheckpoint }
  /** Without this file of hashes, no record could be compared. */
  | { readonly kind: 'tile'; readonly path: string }
  /** An erasure of the record's personal parts was stopped before its end. */
  | { readonly kind: 'half-erased'; readonly place: string }
  /** Too many faults: nothing from this record on was compared. */
  | { readonly kind: 'stopped'; readonly record: number }
  /** A line of the history that is damaged or that the log's key hasn't signed. */
  | { readonly kind: 'unsigned'; readonly line: number }

export interface LogVerdict {
  /** Records that are as they were signed. */
  readonly whole: number
  /** Those of them that have erased parts. */
  readonly erased: number
  /** The number of the first record in the files; undefined if they have none. */
  readonly first: number | undefined
  /** Lines after the newest checkpoint: nothing is signed about them yet. */
  readonly newer: number
  /** The newest checkpoint of the tree. */
  readonly newest: SignedCheckpoint | undefined
  readonly faults: readonly LogFault[]
}

/** After so many, the log is no copy of what was signed; who looks further finds nothing new. */
const MOST_FAULTS = 1000

/** A line that isn't the next record is looked for among so many that come. */
const NEAR = 16_384
/** If it is none of them, all are looked through, but not for each of many lines that fit nowhere. */
const SEARCHES: ReadonlySet<number> = new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512])

/** `files`: the oldest one first. Throws the errors of the file system. */
export async function verifyLog(
  files: readonly string[],
  folder: string,
  history: Pick<SignedHistory, 'checkpoints' | 'unsigned'>,
  outside: readonly OutsideCheckpoint[] = [],
): Promise<LogVerdict> {
  const newest = history.checkpoints.at(-1)
  const faults: LogFault[] = history.unsigned.map((line) => ({ kind: 'unsigned', line }))
  const tree = new TileTree(folder, newest?.size ?? 0)
  try {
    // The hashes of the newest records are always kept.
    const minimum = Math.min(await minimumOf(folder), tree.startOfLastTile)
    faults.push(
      ...outside.filter(({ size }) => size > tree.size).map((one) => ({ kind: 'cut', checkpoint: one }) as const),
    )
    faults.push(...rewrittenIn(tree, minimum, outside, history.checkpoints))
    return { ...(await compareLines(files, new LineComparison(tree, minimum, faults))), newest }
  } catch (error) {
    if (!(error instanceof UnusableTile)) throw error
    return {
      whole: 0,
      erased: 0,
      first: undefined,
      newer: 0,
      newest,
      faults: [...faults, { kind: 'tile', path: error.path }],
    }
  }
}

/**
 * The checkpoints of other places that the tree of the newest one doesn't fit; if there are none, the first one of its
 * own. Hashes of leaves before `minimum` were deleted.
 */
function rewrittenIn(
  tree: TileTree,
  minimum: number,
  outside: readonly OutsideCheckpoint[],
  checkpoints: readonly SignedCheckpoint[],
): readonly LogFault[] {
  const isUnfit = ({ size, root }: Checkpoint) => size >= minimum && size <= tree.size && tree.root(size) !== root
  const unfit = outside.filter(isUnfit)
  const first = unfit.length > 0 ? unfit : [checkpoints.find(isUnfit)].filter((one) => one !== undefined)
  return first.map((checkpoint) => ({ kind: 'rewritten', checkpoint }))
}

async function compareLines(files: readonly string[], comparison: LineComparison): Promise<Omit<LogVerdict, 'newest'>> {
  for (const file of files) {
    await using handle = await open(file)
    let number = 0
    for await (const line of linesToTheEnd(handle)) {
      number += 1
      if (!comparison.take(line, `${file}:${number}`)) return comparison.stopped()
    }
  }
  return comparison.end()
}

/** Goes through the lines and the leaves side by side. */
class LineComparison {
  readonly #tree: TileTree
  readonly #minimum: number
  readonly #faults: LogFault[]
  /** The leaf of the first line, and the one that comes next. */
  #first: number | undefined
  #next: number | undefined
  /** The places of lines that fit no leaf, since the last one that did. */
  #unplaced: string[] = []
  #whole = 0
  #erased = 0
  #newer = 0

  constructor(tree: TileTree, minimum: number, faults: readonly LogFault[]) {
    this.#tree = tree
    this.#minimum = minimum
    this.#faults = [...faults]
  }

  /** False once there are too many faults. */
  take(line: string, place: string): boolean {
    if (this.#next === this.#tree.size || this.#tree.size === 0) {
      this.#newer += 1
      return true
    }
    const index = this.#find(leafHash(signedText(line)))
    if (index === undefined) this.#unplaced.push(place)
    else {
      this.#settle(this.#next ?? Math.max(this.#minimum, index - this.#unplaced.length), index)
      this.#first ??= index
      this.#next = index + 1
      this.#whole += 1
      this.#lookForErased(line, place)
    }
    return this.#faults.length + this.#unplaced.length < MOST_FAULTS
  }

  /** An erased part has nothing but spaces: what else stood there would be signed by nobody. */
  #lookForErased(line: string, place: string): void {
    if (!line.includes(',"erased')) return
    const erased = personalParts(line).filter(({ text }) => text === undefined)
    if (erased.length > 0) this.#erased += 1
    if (erased.some(isHalfErased)) this.#faults.push({ kind: 'half-erased', place })
  }

  end(): Omit<LogVerdict, 'newest'> {
    this.#settle(this.#next ?? this.#minimum, this.#tree.size, true)
    return this.#verdict()
  }

  /** Whatever comes may be there, or not. */
  stopped(): Omit<LogVerdict, 'newest'> {
    const record = Math.min((this.#next ?? this.#minimum) + this.#unplaced.length, this.#tree.size)
    this.#settle(this.#next ?? this.#minimum, record)
    this.#faults.push({ kind: 'stopped', record })
    return this.#verdict()
  }

  #verdict(): Omit<LogVerdict, 'newest'> {
    return { whole: this.#whole, erased: this.#erased, first: this.#first, newer: this.#newer, faults: this.#faults }
  }

  /** The lines since the last leaf stand in the place of the leaves before `index`. */
  #settle(from: number, index: number, isEnd = false): void {
    const lines = this.#unplaced
    this.#unplaced = []
    const absent = index - from
    lines.forEach((place, at) => {
      this.#faults.push(at < absent ? { kind: 'changed', record: from + at, place } : { kind: 'added', place })
    })
    const isMissing = lines.length < absent
    if (isMissing) this.#faults.push({ kind: 'missing', from: from + lines.length, to: index - 1, isEnd })
  }

  /** Not before the last line that was found: a record that stands twice was added. */
  #find(leaf: TreeHash): number | undefined {
    const from = this.#next ?? this.#minimum
    const near = this.#among(leaf, from, Math.min(from + (this.#next === undefined ? 1 : NEAR), this.#tree.size))
    return near ?? (SEARCHES.has(this.#unplaced.length) ? this.#among(leaf, from, this.#tree.size) : undefined)
  }

  #among(leaf: TreeHash, from: number, to: number): number | undefined {
    for (let at = from; at < to; at++) if (this.#tree.leaf(at) === leaf) return at
    return undefined
  }
}
