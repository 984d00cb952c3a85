/** A data folder is made with all above it, or there is an error; never a start that doesn't end. */
import { mkdtemp, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../../src/base/files/make-folder.ts'
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
})
