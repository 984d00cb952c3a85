/** The inputs of a parser: its corpus, and what is drawn from it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Parser } from './parsers.ts'

const ROOT = new URL('../..', import.meta.url).pathname
export const CORPUS = join(ROOT, 'test/fuzz/corpus')

/** The bytes that a parser begins with, by the name of their file. */
export function seedsIn({ name, files }: Parser): ReadonlyMap<string, Buffer> {
  const corpus = readdirSync(join(CORPUS, name)).toSorted()
  return new Map([
    ...corpus.map((file) => [file, readFileSync(join(CORPUS, name, file))] as const),
    ...files.map((file) => [file, readFileSync(join(ROOT, file))] as const),
  ])
}

interface Edit {
  /** 0 to 1: the place. */
  readonly at: number
  readonly drop: number
  readonly put: Uint8Array
  /** The piece, again and again: long inputs show what grows faster than the input. */
  readonly times: number
}

/** Any bytes, and those of the seeds with changes. */
export function anyBytes({ words }: Parser, seeds: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const word = fc.constantFrom('', ...words).map((text) => Buffer.from(text))
  const piece = fc.oneof(word, fc.uint8Array({ maxLength: 4 }))
  const times = fc.oneof({ arbitrary: fc.constant(1), weight: 30 }, { arbitrary: fc.nat(2000), weight: 1 })
  const edit: fc.Arbitrary<Edit> = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    drop: fc.nat(6),
    put: piece,
    times,
  })
  const changed = fc
    .tuple(fc.constantFrom(...seeds), fc.array(edit, { minLength: 1, maxLength: 5 }))
    .map(([seed, edits]) => edits.reduce(edited, seed))
  const joined = fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.concat(pieces))
  const plain = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))
  return fc.oneof({ arbitrary: changed, weight: 4 }, { arbitrary: joined, weight: 2 }, plain)
}

function edited(bytes: Buffer, { at, drop, put, times }: Edit): Buffer {
  const place = Math.floor(at * bytes.length)
  return Buffer.concat([bytes.subarray(0, place), ...Array<Uint8Array>(times).fill(put), bytes.subarray(place + drop)])
}
