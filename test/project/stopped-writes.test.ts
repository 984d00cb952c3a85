/** A command that writes several files and is stopped by a signal has done all of it, or nothing. */
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { inTurn, soak } from '../runs.ts'
import { openWorkshop, ranIn, sumOf, type Workshop } from './projects.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const HOOK = new URL('./signal-at.ts', import.meta.url).href

/** `moments`: before which operations the signal comes. */
const COMMANDS = [
  {
    words: ['add', 'resource', 'zed', '--pattern', 'team'],
    moments: soak([1, ...inTurn([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 3)], [1, 6]),
  },
  { words: ['init', 'inner', '--yes'], moments: soak([1, 2, 30], [1, 30]) },
  { words: ['eject', 'demo'], moments: [1, 20] },
  { words: ['matrix', 'init', '--force'], moments: soak([1, 3, 5], [1, 5]) },
]

describe('a command that a signal stops', () => {
  let workshop: Workshop
  let copies = 0
  const at = (name: string) => join(workshop.folder, name)

  before(async () => {
    workshop = await openWorkshop()
    const made = await workshop.sallyport('.', 'init', 'api', '--yes')
    expect(made.code, made.stderr).to.equal(0)
    await workshop.sallyport('api', 'add', 'resource', 'pages')
    // What `matrix init --force` would change.
    for (const name of ['users', 'pages']) {
      await writeFile(at(`api/test/matrix/${name}.csv`), 'method,path,object,member\n')
    }
  })
  after(() => workshop.remove())

  async function stopped(words: readonly string[], moment: number, more: NodeJS.ProcessEnv = {}) {
    const folder = at(`copy-${copies++}`)
    await cp(at('api'), folder, { recursive: true })
    const env = { ...process.env, SIGNAL_AT: String(moment), ...more }
    const program = [process.execPath, '--import', HOOK, join(ROOT, 'bin/sallyport.js')]
    const ran = await ranIn(folder, env, [...program, ...words])
    return { ran, files: await sumOf(folder, folder) }
  }

  for (const { words, moments } of inTurn(COMMANDS, soak(1, 2))) {
    it(`leaves nothing half done: ${words.join(' ')}`, async () => {
      const before = await sumOf(at('api'), at('api'))
      const whole = await stopped(words, 0)
      expect(whole.ran.code, whole.ran.stderr).to.equal(0)
      expect(whole.files).to.not.equal(before)
      let undone = 0
      for (const moment of moments) {
        const { ran, files } = await stopped(words, moment, { SIGNAL_NAME: moment % 2 === 0 ? 'SIGTERM' : 'SIGINT' })
        expect(files, `${moment}: ${ran.stderr}`).to.equal(ran.code === 0 ? whole.files : before)
        if (ran.code !== 0) undone++
      }
      expect(undone).to.be.at.least(1)
    })
  }

  it('would leave half of it if nothing held the signal back', async () => {
    const [{ words }] = COMMANDS as [(typeof COMMANDS)[0]]
    const { files } = await stopped(words, 4, { SIGNAL_UNHELD: '1' })
    const whole = await stopped(words, 0)
    expect([await sumOf(at('api'), at('api')), whole.files]).to.not.include(files)
  })
})
