/** The embedded key when several processes make it at once, often enough that a race would be lost. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import type { Opener } from './open-keys.ts'

const PROCESSES = 4
/** With a plain write in the place of the link, one folder in about three ends with several keys. */
const FOLDERS = 24

describe('the embedded key that several processes make at once', () => {
  let root: string
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'sallyport-race-'))
  })
  after(() => removeFolder(root))

  it('is one key for all of them', async () => {
    const rounds = await openAtOnce(root, 'real')
    expect(rounds).to.have.length(FOLDERS)
    for (const kids of rounds) expect(new Set(kids).size, String(kids)).to.equal(1)
    for (const folder of await readdir(root)) {
      expect(await readdir(join(root, folder, 'keys'))).to.deep.equal(['signing.jwk'])
    }
  })

  it('would be several with a plain write, which this test finds', async () => {
    const rounds = await openAtOnce(join(root, 'naive'), 'naive')
    expect(rounds.some((kids) => new Set(kids).size > 1)).to.equal(true)
  })
})

/** The kids that the processes got, a list for each folder. */
async function openAtOnce(root: string, opener: Opener): Promise<string[][]> {
  const script = fileURLToPath(new URL('open-keys.ts', import.meta.url))
  const children = Array.from({ length: PROCESSES }, () => fork(script, [root, String(FOLDERS), opener]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const startAtMs = Date.now() + 50
  const kids = await Promise.all(children.map((child) => kidsOf(child, startAtMs)))
  return Array.from({ length: FOLDERS }, (_, folder) => kids.map((own) => own[folder] ?? 'none'))
}

async function kidsOf(child: ChildProcess, startAtMs: number): Promise<readonly string[]> {
  const answer = once(child, 'message')
  child.send(startAtMs)
  const [kids] = await answer
  return kids as readonly string[]
}
