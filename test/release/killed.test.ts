/** A command that is killed at any moment leaves the old policy in force or the new one, and the next command goes on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { readContent } from '../../src/tools/release/content.ts'
import { homeOf } from '../../src/tools/release/folder/layout.ts'
import { readHistory } from '../../src/tools/release/version.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { FIRST_KILL, soak, times } from '../runs.ts'
import { apply, asIn01, digestIn, Folders } from './fixture.ts'

const KILLS = soak(times(12), 8)
const CHILD = new URL('apply-forever.ts', import.meta.url).pathname

async function killedAfter(milliseconds: number, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await sleep(milliseconds)
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('policy apply, killed', () => {
  let folders: Folders
  beforeEach(async () => {
    folders = await Folders.make()
  })
  afterEach(() => folders.remove())

  it('leaves the old files in force or the new ones, a true history, and a way on', () => killAgainAndAgain(asIn01))

  it('leaves all that in a git work tree too, where files stay files', async () => {
    await mkdir(join(folders.root, '.git'))
    await killAgainAndAgain()
  })

  /** Every fourth kill begins with versions that `rewrite` has brought in another layout. */
  async function killAgainAndAgain(rewrite: (live: string) => Promise<void> = async () => {}): Promise<void> {
    const candidates = [await folders.candidate('a', '# a'), await folders.candidate('b', '# b')]
    const digests = await Promise.all([folders.live, ...candidates].map(digestIn))
    const plain = join(folders.root, 'plain')
    await cp(folders.live, plain, { recursive: true })
    const found = new Set<string>()
    for (let i = FIRST_KILL; i < FIRST_KILL + KILLS; i++) {
      // Half of them begin with a plain directory without a history.
      if (i % 2 === 0) await beginWith(plain)
      else if (i % 4 === 1) await rewrite(folders.live)
      await killedAfter(i % 2 === 0 ? (i * 7) % 23 : (i * 5) % 37, [folders.live, ...candidates])
      const digest = await digestIn(folders.live)
      expect(digests).to.include(digest)
      found.add(digest)
      await readPolicyFiles(folders.live)
      const history = await readHistory(await homeOf(folders.live, join(folders.root, 'data')))
      if (history.length > 0) expect(history.at(-1)?.digest).to.equal(digest)
      await apply(folders.live, await readContent(candidates[0] ?? ''))
      expect(await digestIn(folders.live)).to.equal(digests[1])
    }
    expect(found.size, 'the kills came at different moments').to.be.greaterThan(1)
  }

  async function beginWith(plain: string): Promise<void> {
    await removeFolder(folders.live)
    await removeFolder(join(folders.root, 'data'))
    await cp(plain, folders.live, { recursive: true })
  }

  it('would be found out if it wrote one file after the other', async () => {
    const [old, candidate] = [await folders.candidate('c', '# c'), await folders.candidate('d', '# d')]
    const live = join(folders.root, 'naive')
    await cp(old, live, { recursive: true })
    await cp(join(candidate, 'policy.csv'), join(live, 'policy.csv'))
    // Killed here, before `roles.yaml` and the others.
    await appendFile(join(candidate, 'roles.yaml'), '# d\n')
    expect([await digestIn(old), await digestIn(candidate)]).not.to.include(await digestIn(live))
  })
})
