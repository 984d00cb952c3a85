/** New files: all of them, or none, whatever goes wrong on the way. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { storeNew, storeOver } from '../../src/tools/matrix/init/write-matrix.ts'
import { sallyport } from '../command.ts'
import { removeWithTests } from '../ends-with-tests.ts'

const BODY = { name: 'bodies/boards.json', text: '{}\n' }
const MATRIX = { name: 'boards.csv', text: 'method\n' }
/** No system takes such a name. */
const IMPOSSIBLE = { name: `${'x'.repeat(300)}.csv`, text: '' }

describe('matrices that are stored', () => {
  let folder: string
  beforeEach(() => {
    folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-new-files-')))
  })

  for (const inside of ['', 'test/matrix']) {
    it(`leave nothing where one of them can't be written: ${inside || 'in a folder that exists'}`, async () => {
      const target = join(folder, inside)
      const stored = await storeNew(target, [BODY, IMPOSSIBLE, MATRIX]).catch(({ message }) => message)
      expect(stored).to.contain(`${target} can't be written (name too long)`)
      expect(await readdir(folder)).to.deep.equal([])
      // The negative control: without that file, all are there.
      expect(await storeNew(target, [BODY, MATRIX])).to.deep.equal([join(target, BODY.name), join(target, MATRIX.name)])
      expect(await readFile(join(target, BODY.name), 'utf8')).to.equal(BODY.text)
    })
  }

  it('are refused in a sentence where no folder can be', async () => {
    const file = join(folder, 'a-file')
    await writeFile(file, 'mine')
    const out = join(file, 'matrices')
    for (const args of [[], ['--force'], ['--missing']]) {
      const { code, stderr } = await sallyport(['matrix', 'init', '--out', out, '--role', 'member', ...args])
      const told = `${out} can't be written (a file is in its place), and nothing was changed`
      expect([code, stderr]).to.deep.equal([2, `sallyport: ${told}: name another directory, or fix it\n`])
    }
    expect(await readFile(file, 'utf8')).to.equal('mine')
  })

  it('can be run if they are scripts, and no others', async () => {
    await storeNew(folder, [{ name: 'hook', text: '#!/bin/sh\n' }, BODY])
    const modes = await Promise.all(
      ['hook', BODY.name].map(async (name) => (await stat(join(folder, name))).mode & 0o111),
    )
    expect(modes.map((mode) => mode > 0)).to.deep.equal([true, false])
  })

  it('leave what was there before', async () => {
    await mkdir(join(folder, 'bodies'))
    await writeFile(join(folder, 'bodies/users.json'), 'mine')
    await storeNew(folder, [BODY, IMPOSSIBLE]).catch(() => undefined)
    expect(await readdir(folder, { recursive: true })).to.deep.equal(['bodies', 'bodies/users.json'])
    expect(await storeNew(folder, [])).to.deep.equal([])
  })

  for (const [way, store] of [
    ['new', storeNew],
    ['replaced', storeOver],
  ] as const) {
    it(`are ${way} also where another command removes, meanwhile, what killed ones left`, async () => {
      const names = Array.from({ length: 5 }, (_, n) => `${n}.csv`)
      const files = names.map((name) => ({ name, text: name }))
      let stored = false
      const storing = store(folder, files).finally(() => {
        stored = true
      })
      const removed = new Set<number>()
      while (!stored) {
        const made = readdirSync(folder)
        const unfinished = made.find((name) => name.startsWith('.unfinished-'))
        // Each file loses its first one.
        if (unfinished !== undefined && !removed.has(made.length)) {
          rmSync(join(folder, unfinished), { force: true })
          removed.add(made.length)
        }
        await setImmediate()
      }
      await storing
      expect(removed.size).to.be.above(0)
      for (const name of names) expect(await readFile(join(folder, name), 'utf8')).to.equal(name)
      expect((await readdir(folder)).toSorted()).to.deep.equal(names)
    })
  }
})
