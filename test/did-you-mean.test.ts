/** A name that nobody knows gets the known one that it probably means, wherever it is written. */
import { appendFile, cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { didYouMean } from '../src/base/did-you-mean.ts'
import { type Ended, ROOT, sallyport } from './command.ts'
import { removeFolder } from './ends-with-tests.ts'

const ROLES = ['member', 'support', 'auditor', 'admin']

describe('a name that is not known', () => {
  it('gets the nearest one, whatever its case and the signs around it', () => {
    const meant = { membr: 'member', Admin: 'admin', ' auditor;': 'auditor', suport: 'support', adnim: 'admin' }
    for (const [name, role] of Object.entries(meant)) {
      expect(didYouMean(name, ROLES), name).to.equal(`; did you mean \`${role}\`?`)
    }
  })

  it('gets none where none is near', () => {
    for (const name of ['', 'x', 'nobody', 'm'.repeat(100_000)]) expect(didYouMean(name, ROLES)).to.equal('')
  })

  const commands: readonly (readonly [sentence: string, ...args: string[]])[] = [
    ['; did you mean policy?', 'polcy'],
    ['; did you mean check?', 'policy', 'chek'],
    ['; did you mean --format?', 'policy', 'check', '--fromat', 'json'],
    ['did you mean `admin`?', 'openapi', '--role', 'adnim'],
    ['did you mean `support`?', 'policy', 'matrix', '--role', 'suport'],
    ['did you mean `orders`?', 'policy', 'matrix', '--resource', 'oders'],
    ['did you mean `member`?', 'matrix', 'init', '--role', 'membr', '--out', '/tmp/never'],
    ['did you mean `member`?', 'policy', 'explain', '--role', 'membr', 'GET', '/api/orders'],
  ]
  for (const [sentence, ...args] of commands) {
    it(`is refused with a suggestion: sallyport ${args.join(' ')}`, async () => {
      const { code, stderr } = await run(args)
      expect([code, stderr]).to.satisfy(([, text]: [number, string]) => text.includes(sentence), stderr)
      expect(code).to.equal(2)
    })
  }
})

describe('a name in a file', () => {
  it('gets the one that was probably meant, whichever file it is in', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    const limits = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n'
    await writeFile(
      join(folder, 'limits.yaml'),
      `${limits}  a: { per: address, allow: 5, window: 60s, match: { role: membr, resource: notse, action: raed } }\n`,
    )
    await writeFile(join(folder, 'masks.yaml'), 'facts: { orders: [nota], oders: [note] }\n')
    await appendFile(join(folder, 'ownership.yaml'), '\nacounts: { relations: { owner: userId } }\n')
    await appendFile(join(folder, 'views.yaml'), '\nnotes: { short: [titel] }\n')
    const { stdout } = await run(['policy', 'check', folder])
    await removeFolder(folder)
    for (const meant of ['member', 'notes', 'note', 'orders', 'accounts', 'title']) {
      expect(stdout).to.include(`did you mean \`${meant}\`?`)
    }
  })

  it('of a role that a token is to have gets it too, and a role in a matrix', async () => {
    const data = await mkdtemp(join(tmpdir(), 'sallyport-'))
    const { stderr } = await run(['token', '--subject', 'alice', '--role', 'membr'], { DATA_DIR: data })
    expect(stderr).to.include('so it grants nothing; did you mean `member`?')
    await writeFile(join(data, 'm.csv'), 'method,path,object,membr\nGET,/api/orders,none,200\n')
    const { stdout } = await run(['matrix', 'test', join(data, 'm.csv')])
    await removeFolder(data)
    expect(stdout).to.include('did you mean `member`?')
  })
})

describe('help', () => {
  it('of a command within another is its own', async () => {
    const [long, short] = await Promise.all([run(['help', 'policy', 'check']), run(['policy', 'check', '--help'])])
    expect(long.stdout).to.equal(short.stdout).and.to.contain('Usage: sallyport policy check')
    expect(long.code).to.equal(0)
  })
})

function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return sallyport(args, { env })
}
