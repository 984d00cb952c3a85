/** A matrix names the guarantees of each cell, and the cells are as they say. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT, sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'

const GUARANTEES = `- name: nobody without credentials changes a user
  never: { subjects: [anonymous], resource: users, actions: [update] }
- name: balances are for few
  never: { subjects: { except: [auditor, admin] }, resource: accounts, actions: [list, read], fields: [balance], unless: owner }
- name: support reads orders
  always: { subjects: [support], resource: orders, actions: [read] }
- name: nobody both deletes and ships
  apart: [{ resource: orders, actions: [delete] }, { resource: orders, actions: [update], when: draft>placed }]
`

interface Cell {
  readonly caller: string
  readonly outcome: string
}

interface MatrixJson {
  readonly rows: readonly { readonly resource: string; readonly action: string; readonly cells: readonly Cell[] }[]
  readonly guarantees: readonly {
    readonly name: string
    readonly status: string
    readonly about: readonly {
      readonly kind: string
      readonly callers: readonly string[]
      readonly resource: string
      readonly actions: readonly string[]
      readonly terms?: string
    }[]
  }[]
}

describe('the guarantees of the cells of a matrix', () => {
  let folder: string
  let matrix: MatrixJson
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-matrix-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    await writeFile(join(folder, 'guarantees.yaml'), GUARANTEES)
    const { code, stdout, stderr } = await sallyport(['policy', 'matrix', '--format', 'json', '--policies', folder])
    expect(code, stderr).to.equal(0)
    matrix = JSON.parse(stdout)
  })
  after(() => removeFolder(folder))

  it('say which callers, and under which terms', () => {
    const [never, balances, always, apart] = matrix.guarantees.map(({ about, status }) => ({ status, about }))
    expect(never?.about).to.deep.equal([
      { kind: 'never', callers: ['anonymous'], resource: 'users', actions: ['update'] },
    ])
    expect(balances?.about[0]?.callers).to.include.members(['anonymous', 'everyone', 'member', 'support'])
    expect(balances?.about[0]?.callers).not.to.include.members(['admin']).and.not.to.include.members(['auditor'])
    expect(balances?.about[0]?.terms).to.equal('owner')
    expect(always?.about[0]?.callers).to.deep.equal(['support'])
    expect(apart?.about.map(({ terms }) => terms)).to.deep.equal([undefined, 'draft>placed'])
    expect([never, balances, always, apart].map((one) => one?.status)).to.deep.equal([
      'proven',
      'proven',
      'proven',
      'broken',
    ])
  })

  it('are kept by each cell that a proven one without terms is about', () => {
    const proven = matrix.guarantees.filter(({ status }) => status === 'proven').flatMap(({ about }) => about)
    const kept = proven
      .filter(({ terms }) => terms === undefined)
      .flatMap(({ kind, callers, resource, actions }) => {
        const rows = matrix.rows.filter((row) => row.resource === resource && actions.includes(row.action))
        const cells = rows.flatMap((row) => row.cells).filter(({ caller }) => callers.includes(caller))
        return cells.map(({ outcome }) => outcome === (kind === 'never' ? 'denied' : 'allowed'))
      })
    expect(kept).not.to.include(false)
    expect(kept.length).to.be.greaterThan(1)
  })
})
