/** Policy files are read whole, also while they are exchanged as `policy apply` does it. */
import { cp, link, mkdir, mkdtemp, readFile, rename, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type PolicyFiles, RULE_FILES, readInPlace, readPolicyFiles } from '../../src/policy/policy-files.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'

describe('policy files that are exchanged while they are read', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const version of ['a', 'b']) {
      await mkdir(join(folder, '.versions', version), { recursive: true })
      for (const file of RULE_FILES) await writeFile(join(folder, '.versions', version, file), version.repeat(1000))
    }
    await symlink('.versions/a', join(folder, '.current'))
    for (const file of RULE_FILES) await symlink(`.current/${file}`, join(folder, file))
  })
  afterEach(() => removeFolder(folder))

  it('are of one version each time', async () => {
    const swapping = swapUntilStopped()
    const seen = new Set<string>()
    for (let i = 0; i < soak(300, 100) || (seen.size < 2 && i < 20_000); i++)
      seen.add(versionsIn(await readPolicyFiles(folder)))
    await swapping.stop()
    expect([...seen].sort()).to.deep.equal(['a', 'b'])
  })

  it('are mixed when each is read through its link: what this reading avoids can happen', async () => {
    const swapping = swapUntilStopped()
    const seen = new Set<string>()
    for (let i = 0; i < 2000 && !seen.has('ab'); i++) {
      const texts: string[] = []
      for (const file of RULE_FILES) texts.push(await readFile(join(folder, file), 'utf8'))
      seen.add(versionsOf(texts))
    }
    await swapping.stop()
    expect(seen).to.include('ab')
  })

  it('are of one version while links of 0.1 become files, and their versions are removed', async () => {
    for (let round = 0; round < soak(20, 4); round++) {
      const directory = join(folder, `of-0.1-${round}`)
      await cp(join(folder, '.versions'), join(directory, '.versions'), { recursive: true })
      await symlink('.versions/a', join(directory, '.current'))
      for (const file of RULE_FILES) await symlink(`.current/${file}`, join(directory, file))
      const converting = convert(directory)
      const seen = new Set<string>()
      const readers = Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 6; i++) seen.add(versionsIn(await readPolicyFiles(directory)))
      })
      await Promise.all([converting, ...readers])
      expect([...seen].every((versions) => versions === 'a' || versions === 'b')).to.equal(true)
      expect(versionsIn(await readPolicyFiles(directory))).to.equal('b')
    }
  })

  it('are of one version in a mounted ConfigMap that is swapped there and back, its blocked.txt too', async () => {
    const mount = join(folder, 'mount')
    for (const version of ['a', 'b']) {
      await cp(join(folder, '.versions', version), join(mount, `..${version}`), { recursive: true })
      await writeFile(join(mount, `..${version}`, 'blocked.txt'), version.repeat(1000))
    }
    for (const file of [...RULE_FILES, 'blocked.txt']) await symlink(`..data/${file}`, join(mount, file))
    await turn(mount, '..data', '..a')
    const swapping = untilStopped(async () => {
      for (const version of ['b', 'a']) await turn(mount, '..data', `..${version}`)
      // A kubelet takes a minute.
      await sleep(1)
    })
    const seen = new Set<string>()
    for (let i = 0; i < soak(300, 100); i++) {
      const { files, blocked } = await readInPlace(mount)
      seen.add(versionsOf([...Object.values(files()), blocked()].map(({ text }) => text)))
    }
    await swapping.stop()
    expect([...seen].join()).to.match(/^(a|b)(,(a|b))?$/)
  })

  it('are not taken from a plain directory while they are written one after the other', async () => {
    const plain = join(folder, 'plain')
    await cp(join(folder, '.versions/a'), plain, { recursive: true })
    for (const version of ['a', 'b']) await writeFile(join(folder, version), version.repeat(1_000_000))
    const writing = untilStopped(async () => {
      for (const version of ['b', 'a']) {
        for (const file of RULE_FILES) {
          await link(join(folder, version), join(plain, 'new'))
          await rename(join(plain, 'new'), join(plain, file))
        }
      }
    })
    const reading = await readPolicyFiles(plain).then(versionsIn, String)
    await writing.stop()
    expect(reading).to.contain('kept changing while they were read')
    expect(versionsIn(await readPolicyFiles(plain))).to.equal('a')
  })

  /** As the next apply does it. */
  async function convert(directory: string): Promise<void> {
    await cp(join(directory, '.versions/a'), join(directory, '.new'), { recursive: true })
    await rename(join(directory, '.new'), join(directory, '.before'))
    for (const file of RULE_FILES) {
      await link(join(directory, '.versions/b', file), join(directory, '.new'))
      await rename(join(directory, '.new'), join(directory, file))
    }
    await rename(join(directory, '.before'), join(directory, '.gone'))
    for (const name of ['.gone', '.versions']) await removeFolder(join(directory, name))
    await unlink(join(directory, '.current'))
  }

  function swapUntilStopped(): { stop(): Promise<void> } {
    return untilStopped(async () => {
      for (const version of ['b', 'a']) await turn(folder, '.current', `.versions/${version}`)
      // Without a pause every reading would meet a swap, and be done again.
      await sleep(1)
    })
  }
})

async function turn(directory: string, name: string, target: string): Promise<void> {
  await symlink(target, join(directory, '.link'))
  await rename(join(directory, '.link'), join(directory, name))
}

function untilStopped(work: () => Promise<void>): { stop(): Promise<void> } {
  let stopped = false
  const working = (async () => {
    while (!stopped) await work()
  })()
  return {
    stop() {
      stopped = true
      return working
    },
  }
}

function versionsIn(files: PolicyFiles): string {
  return versionsOf(Object.values(files).map(({ text }) => text))
}

function versionsOf(texts: readonly string[]): string {
  return [...new Set(texts.join(''))].sort().join('')
}
