import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { StoredObject } from '../../src/resources/object.ts'
import { creation, type Opened } from './fixture.ts'
import { Folder } from './folder.ts'
import { BATCH } from './writer.ts'

const WRITER = fileURLToPath(new URL('writer.ts', import.meta.url))
const ROUNDS = 6

describe('a process that dies while it writes', () => {
  const folder = Folder.ofEach()

  it('loses no write that it acknowledged, and leaves no half write', async () => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const fresh = await Folder.make()
      const acknowledged = await killAfter(fresh, 'after', 7 * round)
      expect(acknowledged.length).to.be.at.least(7 * round)
      expect(await missing(await fresh.open(), acknowledged)).to.deep.equal([])
      expect(fresh.raw().prepare('pragma integrity_check').all()).to.deep.equal([{ integrity_check: 'ok' }].map(bare))
      await fresh.remove()
    }
  })

  it('would be noticed if it acknowledged before it wrote', async () => {
    const acknowledged = await killAfter(folder, 'before', 7)
    expect(await missing(await folder.open(), acknowledged)).not.to.be.empty
  })

  it('fails as unavailable when no more can be written, and what it had acknowledged is there', async () => {
    // The shell's limit on the size of a file (blocks of 512 bytes) stands in for a full disk.
    const limited = spawn('sh', [
      '-c',
      'ulimit -f 4000; exec "$0" "$@"',
      process.execPath,
      WRITER,
      folder.file,
      'after',
    ])
    const lines = await linesOf(limited)
    expect(lines.at(-1)).to.match(/^failed StoreUnavailable \d+$/)
    expect(lines.length).to.be.above(10)
    const opened = await folder.open()
    expect(await missing(opened, lines.slice(0, -1))).to.deep.equal([])
    await opened.store.create(creation('afterwards', {}))
  })
})

/** Runs the writer, kills it when it has acknowledged so many writes, and gives all that it acknowledged. */
async function killAfter(folder: Folder, order: 'after' | 'before', count: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [WRITER, folder.file, order])
  let seen = 0
  return linesOf(child, () => {
    seen += 1
    if (seen === count) child.kill('SIGKILL')
  })
}

async function linesOf(child: ChildProcess, onLine: () => void = () => {}): Promise<readonly string[]> {
  const lines: string[] = []
  const ended = once(child, 'close')
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('the writer has no output')
  stderr.pipe(process.stderr)
  for await (const line of createInterface({ input: stdout })) {
    lines.push(line)
    onLine()
  }
  await ended
  return lines
}

/** The acknowledged writes that aren't there, and the objects that were written by halves. */
async function missing({ store }: Opened, acknowledged: readonly string[]): Promise<readonly string[]> {
  const listed = await store.list('things', { where: { kind: 'always' }, limit: 1_000_000 })
  const objects = (await Promise.all(listed.map(({ id }) => store.get('things', id)))).filter(
    (one) => one !== undefined,
  )
  const byId = new Map(objects.map((object) => [object.id, object]))
  return [...acknowledged.filter((line) => !isStored(line, byId)), ...halves(objects)]
}

function isStored(line: string, byId: ReadonlyMap<string, StoredObject>): boolean {
  const [verb = '', name = ''] = line.split(' ')
  if (verb === 'created') return byId.get(name)?.document.code === name
  if (verb === 'updated') return Number(byId.get('counter')?.document.count) >= Number(name)
  return verb === 'batch' && byId.has(`b${name}-0`)
}

function halves(objects: readonly StoredObject[]): readonly string[] {
  const counter = objects.find((object) => object.id === 'counter')
  const torn =
    counter &&
    (counter.document.count !== counter.document.copy || counter.version !== Number(counter.document.count) + 1)
  const batches = Map.groupBy(
    objects.filter((object) => object.id.startsWith('b')),
    (object) => object.document.department,
  )
  const short = [...batches].filter(([, batch]) => batch.length !== BATCH).map(([name]) => `half of ${name}`)
  return torn ? ['half of counter', ...short] : short
}

/** Rows of node:sqlite have no prototype. */
function bare(row: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.assign(Object.create(null), row)
}
