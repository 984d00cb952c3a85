/**
 * A process that writes until it is stopped or the store fails, and says on stdout what was acknowledged, a line each:
 * `created <id>`, `updated <n>`, `batch <n>`, and last `failed <error's name> <engine's error code>`.
 * Arguments: the file, and `after` (says it when the write is durable) or `before` (says it first: a broken writer).
 */
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { change, creation, RESOURCES } from './fixture.ts'

export const BATCH = 10
const PADDING = 'x'.repeat(2000)

if (import.meta.main) await main(process.argv[2] ?? '', process.argv[3] ?? 'after')

async function main(file: string, order: string): Promise<void> {
  const { store, seeding } = await openSqlite({ file, resources: RESOURCES, now: () => new Date() })
  const acknowledge = (line: string) => writeSync(1, `${line}\n`)
  const write = async (line: string, durable: () => Promise<unknown>) => {
    if (order === 'before') acknowledge(line)
    if (order === 'before') await setTimeout(20)
    await durable()
    if (order === 'after') acknowledge(line)
  }
  try {
    await store.create(creation('counter', { count: 0, copy: 0 }))
    for (let n = 1; ; n += 1) {
      await write(`created c${n}`, () => store.create(creation(`c${n}`, { code: `c${n}`, padding: PADDING })))
      await write(`updated ${n}`, () => store.update(change('counter', n, { count: n, padding: PADDING, copy: n })))
      await write(`batch ${n}`, () => seeding.insert('things', batch(n)))
    }
  } catch (error) {
    const cause = (error as Error).cause as { errcode?: number } | undefined
    acknowledge(`failed ${(error as Error).name} ${cause?.errcode}`)
  }
}

function batch(n: number) {
  return Array.from({ length: BATCH }, (_, index) => ({ id: `b${n}-${index}`, document: { department: `b${n}` } }))
}
