/** A folder is made with all above it, or there is an error; never a command that doesn't end. */
import { globSync } from 'node:fs'
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../../src/base/files/make-folder.ts'
import { writeNew } from '../../src/base/files/new-files.ts'
import { replaceAll } from '../../src/tools/release/folder/replace-all.ts'
import { ROOT } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'

describe('a data folder', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  })
  afterEach(() => removeFolder(folder))

  const codeOf = (path: string) =>
    makeFolder(path).then(
      () => 'made',
      ({ code }: NodeJS.ErrnoException) => code,
    )

  it('is made with what is missing above it, for its owner alone, by however many at once', async () => {
    const deep = join(folder, 'a/b/c')
    expect(await Promise.all([codeOf(deep), codeOf(deep), codeOf(`${deep}/`)])).to.deep.equal(['made', 'made', 'made'])
    expect((await stat(deep)).mode & 0o777).to.equal(0o700)
    expect(await codeOf(deep)).to.equal('made')
  })

  it('that can not be is an error, at once', async () => {
    await writeFile(join(folder, 'file'), '')
    expect([await codeOf(join(folder, 'file')), await codeOf(join(folder, 'file/x'))]).to.deep.equal([
      'EEXIST',
      'ENOTDIR',
    ])
    if (process.platform === 'linux') expect(await codeOf('/proc/sallyport/data')).to.equal('ENOENT')
  })

  it('that can not be stops the files that go into it, and leaves nothing', async () => {
    const files = [{ name: 'a/b.csv', text: 'x' }]
    await writeFile(join(folder, 'file'), '')
    for (const write of [writeNew, replaceAll]) {
      const outcome = (path: string) =>
        write(path, files).then(
          () => 'written',
          ({ code }: NodeJS.ErrnoException) => code,
        )
      if (process.platform === 'linux') expect(await outcome('/proc/sallyport/new')).to.equal('ENOENT')
      expect(await outcome(join(folder, 'file'))).to.be.oneOf(['EEXIST', 'ENOTDIR'])
      expect(await readFile(join(folder, 'file'), 'utf8')).to.equal('')
      // The negative control.
      const place = join(folder, write.name)
      expect(await outcome(place)).to.equal('written')
      expect(await readFile(join(place, 'a/b.csv'), 'utf8')).to.equal('x')
    }
  })

  it('is never made by the mkdir of Node that may not end', async () => {
    const endless = /mkdir(?:Sync)?\(.*recursive: true/
    expect('await mkdir(dirname(path), { recursive: true })').to.match(endless)
    const found: string[] = []
    for (const file of globSync('src/**/*.ts', { cwd: ROOT }))
      if (endless.test(await readFile(join(ROOT, file), 'utf8'))) found.push(file)
    expect(found).to.deep.equal([])
  })
})
