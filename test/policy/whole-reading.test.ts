/** Policy files are read whole, also while they are exchanged as `policy apply` does it. */
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type PolicyFiles, RULE_FILES, readPolicyFiles } from '../../src/policy/policy-files.ts'

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
  afterEach(() => rm(folder, { recursive: true }))

  it('are of one version each time', async () => {
    const swapping = swapUntilStopped()
    const seen = new Set<string>()
    for (let i = 0; i < 300; i++) seen.add(versionsIn(await readPolicyFiles(folder)))
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

  it('are of one version while a plain directory becomes a versioned one', async () => {
    for (let round = 0; round < 20; round++) {
      const plain = join(folder, `plain-${round}`)
      await cp(join(folder, '.versions/a'), plain, { recursive: true })
      const converting = convert(plain)
      const seen = new Set<string>()
      const readers = Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 6; i++) seen.add(versionsIn(await readPolicyFiles(plain)))
      })
      await Promise.all([converting, ...readers])
      seen.add(versionsIn(await readPolicyFiles(plain)))
      expect([...seen].every((versions) => versions === 'a' || versions === 'b')).to.equal(true)
      expect(versionsIn(await readPolicyFiles(plain))).to.equal('b')
    }
  })

  /** As the first apply does it. */
  async function convert(plain: string): Promise<void> {
    await cp(join(folder, '.versions'), join(plain, '.versions'), { recursive: true })
    await symlink('.versions/a', join(plain, '.current'))
    for (const file of RULE_FILES) {
      await symlink(`.current/${file}`, join(plain, 'link'))
      await rename(join(plain, 'link'), join(plain, file))
    }
    await symlink('.versions/b', join(plain, 'link'))
    await rename(join(plain, 'link'), join(plain, '.current'))
  }

  function swapUntilStopped(): { stop(): Promise<void> } {
    let stopped = false
    const swapping = (async () => {
      for (let i = 0; !stopped; i++) {
        await symlink(`.versions/${i % 2 === 0 ? 'b' : 'a'}`, join(folder, 'link'))
        await rename(join(folder, 'link'), join(folder, '.current'))
      }
    })()
    return {
      stop() {
        stopped = true
        return swapping
      },
    }
  }
})

function versionsIn(files: PolicyFiles): string {
  return versionsOf(Object.values(files).map(({ text }) => text))
}

function versionsOf(texts: readonly string[]): string {
  return [...new Set(texts.join(''))].sort().join('')
}
