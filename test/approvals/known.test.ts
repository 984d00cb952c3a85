/** POLICY_KNOWN: instances and commands begin with a version that their operator has verified. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { sequenceOf } from '../published/fixture.ts'
import { policy } from '../release/command.ts'
import { failure } from '../store/fixture.ts'
import { ApprovedPolicies } from './people.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('a version that an operator has verified', () => {
  let approved: ApprovedPolicies
  let known: string

  /** Version 2 grants fields that the schemas of later days don't have, and version 3 doesn't grant them any more. */
  before(async () => {
    approved = await ApprovedPolicies.make()
    for (const [name, lines] of [
      ['with', 'p, auditor, old, list|read, any, *, allow\n'],
      ['without', '# without it\n'],
    ] as const) {
      await run(['propose', await approved.folderWith(name, lines), '--title', name, '--key', approved.keyOf('ada')])
      const number = name === 'with' ? '1' : '2'
      for (const person of ['zoe', 'tim'] as const) await run(['approve', number, '--key', approved.keyOf(person)])
      expect((await run(['publish', number])).stderr).to.equal('')
    }
    known = /^POLICY_KNOWN=(\S+)$/m.exec((await run(['history', '--verify'])).stdout)?.[1] ?? ''
  })
  after(() => approved.remove())

  const schemasOf = async (): Promise<string> => {
    const folder = join(approved.published.root, 'schemas')
    await cp(join(ROOT, 'schemas'), folder, { recursive: true })
    const note = await readFile(join(folder, 'notes.json'), 'utf8')
    const old = note.replaceAll('/api/v1/notes', '/api/v1/old').replace(/^.*"moved".*\n/m, '')
    await writeFile(
      join(folder, 'old.json'),
      old.replace('/{id}", "methods": ["GET", "PUT", "PATCH", "DELETE"] },', '/{id}", "methods": ["GET"] }'),
    )
    return folder
  }
  const run = async (args: readonly string[], env: Record<string, string> = {}) =>
    policy(args, approved.environment({ SCHEMAS: await schemasOf(), ...env }))

  it('is where instances and commands with later schemas begin', async () => {
    expect(known).to.match(/^3:[0-9a-f]{64}$/)
    const later = { SCHEMAS: join(ROOT, 'schemas') }
    expect(String(await failure(approved.published.start(later)))).to.contain('no schema declares the resource `old`')
    expect((await run(['proposals'], later)).stderr).to.contain('no schema declares the resource `old`')
    const server = await approved.published.start({ ...later, POLICY_KNOWN: known })
    expect(await sequenceOf(server)).to.equal(3)
    const proposals = await run(['proposals'], { ...later, POLICY_KNOWN: known })
    expect([proposals.code, proposals.stderr]).to.deep.equal([0, ''])
  })

  it('is refused where the database has another one, an older one, or none under its number', async () => {
    const other = `3:${'0'.repeat(64)}`
    expect(String(await failure(approved.published.start({ POLICY_KNOWN: other })))).to.contain(
      'version 3 is another one than',
    )
    expect((await run(['proposals'], { POLICY_KNOWN: other })).stderr).to.contain(
      'version 3 is another one than POLICY_KNOWN names',
    )
    const missing = { POLICY_KNOWN: known.replace('3:', '9:') }
    expect(String(await failure(approved.published.start(missing)))).to.contain(
      'version 9 is no longer in the database',
    )
    expect((await run(['proposals'], missing)).stderr).to.contain('version 9, which POLICY_KNOWN names, is not in the')
    expect((await run(['proposals'], { POLICY_KNOWN: 'three' })).stderr).to.contain(
      'POLICY_KNOWN is "three"; set it to a number and a digest',
    )
  })
})
