/** The file of an export: it takes the place of no other file, not even of one that was made meanwhile. */
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openOutput } from '../../src/cli/data/output.ts'
import { removeFolder } from '../ends-with-tests.ts'

describe('the file of an export', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-output-'))
  })
  afterEach(() => removeFolder(folder))

  it('has its name, and no other one, when it is whole', async () => {
    const output = await openOutput(join(folder, 'all'))
    await output.write('a line\n')
    expect(await readdir(folder)).to.deep.equal(['all.part'])
    await output.finish()
    expect(await readdir(folder)).to.deep.equal(['all'])
    expect(await readFile(join(folder, 'all'), 'utf8')).to.equal('a line\n')
  })

  it('stays beside a file of its name that was made meanwhile, and says where it is', async () => {
    const file = join(folder, 'all')
    const output = await openOutput(file)
    await output.write('a line\n')
    await writeFile(file, 'mine')
    const error = await output.finish().catch((thrown) => thrown)
    expect(error.message).to.equal(
      `the file ${file} was made meanwhile: rename ${file}.part, which has the whole export`,
    )
    expect(await readFile(file, 'utf8')).to.equal('mine')
    expect(await readFile(`${file}.part`, 'utf8')).to.equal('a line\n')
  })
})
