/** A matrix states who may run a command, and the server answers as it states. */
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'

const PLACE = {
  resource: 'orders',
  path: '/api/orders/{id}/placement',
  action: 'settle',
  require: { status: ['draft'] },
  set: { status: { value: 'placed' } },
}

describe('a matrix with a command', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const name of ['policies', 'schemas']) await cp(join(ROOT, name), join(folder, name), { recursive: true })
    await mkdir(join(folder, 'schemas/commands'), { recursive: true })
    await writeFile(join(folder, 'schemas/commands/settle.json'), JSON.stringify(PLACE))
    await addRules(
      join(folder, 'policies/policy.csv'),
      'p, member, orders, settle, owner+draft>placed, progress, allow',
    )
  })
  after(() => removeFolder(folder))

  const matrix = (...args: readonly string[]) => sallyport(['matrix', ...args], { cwd: folder })

  it('has its cells from `init`, which the running server answers so; a wrong one is found', async () => {
    const made = await matrix('init', '--out', 'made', '--role', 'member', '--role', 'auditor')
    expect(made.code, made.stderr).to.equal(0)
    const whole = await readFile(join(folder, 'made/orders.csv'), 'utf8')
    const [head = '', ...lines] = whole.split('\n')
    const rows = lines.filter((line) => line.includes('/placement') && line.startsWith('POST'))
    expect(rows.filter((line) => line.includes('200'))).to.have.length(1)
    // The command decides what the object becomes.
    expect(rows.filter((line) => line.includes('>'))).to.deep.equal([])
    await writeFile(join(folder, 'rows.csv'), `${[head, ...rows].join('\n')}\n`)
    const right = await matrix('test', 'rows.csv')
    expect(right.code, right.stdout).to.equal(0)
    await writeFile(join(folder, 'rows.csv'), `${[head, ...rows].join('\n').replace('200', '403')}\n`)
    expect((await matrix('test', 'rows.csv')).code).to.equal(1)
  })
})
