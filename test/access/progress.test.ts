/** `access report` and `access compare` show on a terminal how far they are: while they read objects, and decide. */
import { Readable, Writable } from 'node:stream'
import { expect } from 'chai'
import { run } from '../../src/cli/run.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { fillShop } from './large-worlds.ts'

const SIZE = { people: 20, objects: 2500 }

class Shown extends Writable {
  text = ''
  readonly isTTY: boolean

  constructor(isTTY: boolean) {
    super()
    this.isTTY = isTTY
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}

describe('the progress of access', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ uncheckedBecause: 'only commands ask' })
    await fillShop(server.app.seeding, SIZE)
  })
  after(() => server.stop())

  const shownBy = async (args: readonly string[], isTTY: boolean) => {
    const { folder } = server
    const [stdout, stderr] = [new Shown(false), new Shown(isTTY)]
    const env = {
      ...process.env,
      DATA_DIR: `${folder}/data`,
      DATABASE_URL: `sqlite:${folder}/data/sallyport.db`,
      POLICIES: `${folder}/policies`,
      SCHEMAS: `${folder}/schemas`,
    }
    const code = await run(['access', ...args], { cwd: folder, env, stdin: Readable.from(['']), stdout, stderr })
    expect(code, stderr.text).to.equal(0)
    expect(stdout.text).to.not.equal('')
    return stderr.text
  }

  for (const args of [['report'], ['compare', '--from', 'policies']]) {
    it(`is a bar for what ${args[0]} reads and one for what it decides, and each arrives`, async () => {
      const bars = (await shownBy(args, true)).split('\n').filter((line) => line.includes('%'))
      expect(bars).to.have.length(2)
      // Whoever presses Ctrl-C keeps a terminal that breaks long lines.
      expect(bars.join()).to.not.include('\u001b[?7l')
      expect(bars[0]).to.match(/reading \S+ 0% .*reading \S+ 100%/)
      expect(bars[1]).to.match(/deciding \S+ 0% .*deciding \S+ 100%/)
    })

    it(`isn't shown where the errors of ${args[0]} go to a file`, async () => {
      expect(await shownBy(args, false)).to.equal('')
    })
  }
})
