/** Beside each changed line stands what it means: what `policy diff` says about this change alone. */
import { execFileSync } from 'node:child_process'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type InlayHint, InlayHintRequest } from 'vscode-languageserver/node'
import { changedParts, eachLine, takenBack } from '../../src/tools/diff/changed-lines.ts'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { runs } from '../runs.ts'
import { TestEditor } from './editor.ts'

const RULES = 'policies/policy.csv'

describe('the meaning of changed lines', () => {
  let editor: TestEditor
  let text: string
  before(async () => {
    editor = await TestEditor.open()
    text = await editor.read(RULES)
  })
  after(async () => {
    await editor.end()
  })

  const CHANGES: readonly (readonly [file: string, before: string | RegExp, after: string])[] = [
    [RULES, '# Auditors', 'p, member, orders, read, any, *, allow\n# Auditors'],
    [RULES, 'any,            contact,  allow', 'owner,          contact,  allow'],
    [RULES, /p, auditor, \*,.*\n/, ''],
    ['policies/views.yaml', 'displayName, email]', 'displayName, email, bio]'],
    ['policies/ownership.yaml', 'in: [draft, placed]', 'in: [draft]'],
    ['policies/limits.yaml', 'allow: 6000', 'allow: 600'],
    ['policies/blocked.txt', '# Users', 'user:mallory\n# Users'],
  ]
  for (const [file, before, after] of CHANGES) {
    it(`is what policy diff says: ${file} with ${JSON.stringify(after)}`, async () => {
      const changed = (await editor.read(file)).replace(before, after)
      const wanted = await differences(file, changed)
      expect(wanted.length).to.be.greaterThan(0)
      const [hint, ...more] = await hints(file, changed)
      expect(more).to.deep.equal([])
      const said = String(hint?.tooltip ?? hint?.label)
      for (const sentence of wanted) expect(said).to.include(sentence)
      expect(said).to.match(/^(?:widens|narrows|widens or narrows|changes no decision): /)
    })
  }

  it('stands at its own line, where several change', async () => {
    const changed = text
      .replace(
        '# Auditors',
        'p, member, orders, read, any, *, allow\np, member, notes, read, any, *, allow\n# Auditors',
      )
      .replace('g, support, member\n', 'g, support, member\n# A comment.\n')
    const found = await hints(RULES, changed)
    const lines = changed.split('\n')
    expect(found.map(({ position }) => [lines[position.line], position.character])).to.deep.equal([
      ['p, member, orders, read, any, *, allow', 38],
      ['p, member, notes, read, any, *, allow', 37],
    ])
    expect(found.map(({ label }) => String(label))).to.deep.equal([
      'widens: member gains read on orders (any, had owner)',
      'widens: member (also: support) gains read on notes (any, had owner)',
    ])
  })

  it('says that a line changes no decision', async () => {
    const changed = text.replace('# Auditors', 'p, member, notes, read, owner, *, allow\n# Auditors')
    expect((await hints(RULES, changed)).map(({ label }) => label)).to.deep.equal(['changes no decision'])
  })

  it('says that a change means something only with another one', async () => {
    const roles = await editor.read('policies/roles.yaml')
    await editor.type(RULES, text.replace('# Auditors', 'p, guest, notes, read, any, *, allow\n# Auditors'))
    const found = await hints('policies/roles.yaml', `${roles}guest:\n  description: A guest.\n`)
    expect(found.map(({ label }) => label)).to.deep.equal(['means something only with other changes'])
    await editor.close(RULES)
  })

  it('is told for what the editor shows, and for twenty changes at most', async () => {
    const lines = Array.from({ length: 30 }, (_, i) => `p, user:u${i}, notes, read, any, *, allow`)
    const changed = text.replace('# Auditors', `${lines.join('\n')}\n# Auditors`)
    expect(await hints(RULES, changed)).to.have.length(20)
    const first = text.split('\n').findIndex((line) => line.startsWith('# Auditors'))
    expect(await hints(RULES, changed, first + 4, first + 6)).to.have.length(3)
  })

  it('is not told while the policy has errors, and not for a file of another folder', async () => {
    expect(
      await hints(RULES, text.replace('# Auditors', 'p, nobody, notes, read, any, *, allow\n# Auditors')),
    ).to.deep.equal([])
    expect(await hints('elsewhere/policy.csv', 'p, member, notes, read, any, *, allow')).to.deep.equal([])
  })

  it('compares with the last commit, so that saving a file leaves its meaning there', async () => {
    const committed = await TestEditor.open()
    const git = (...args: string[]) => execFileSync('git', ['-C', committed.folder, ...args], { stdio: 'pipe' })
    git('init', '-q')
    git('add', '.')
    git('-c', 'user.name=x', '-c', 'user.email=x@example.org', 'commit', '-qm', 'x')
    const changed = text.replace('# Auditors', 'p, member, orders, read, any, *, allow\n# Auditors')
    await writeFile(join(committed.folder, RULES), changed)
    const found = await hints(RULES, changed, 0, 1000, committed)
    expect(found.map(({ label }) => label)).to.deep.equal(['widens: member gains read on orders (any, had owner)'])
    await committed.end()
  })

  it('is of parts that together are the whole change', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', '# d', ''), { maxLength: 12 }).map((all) => all.join('\n'))
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        for (const parts of [
          changedParts(before, after) ?? [],
          (changedParts(before, after) ?? []).flatMap(eachLine),
        ]) {
          // The last one first, so that the lines of the others stay where they are.
          expect(parts.toReversed().reduce(takenBack, after)).to.equal(before)
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  async function hints(file: string, shown: string, from = 0, to = 1000, on = editor): Promise<readonly InlayHint[]> {
    await on.type(file, shown)
    const range = { start: { line: from, character: 0 }, end: { line: to, character: 0 } }
    const textDocument = { uri: on.uri(file) }
    const found = await on.connection.sendRequest(InlayHintRequest.type, { textDocument, range })
    await on.close(file)
    return found ?? []
  }

  /** The sentences of `policy diff` from the shipped policy to the one with this text. */
  async function differences(file: string, changed: string): Promise<readonly string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-changed-'))
    await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
    await writeFile(join(folder, file), changed)
    const args = ['policy', 'diff', 'policies', join(folder, 'policies'), '--format', 'json']
    const { stdout } = await sallyport(args, { cwd: ROOT })
    await removeFolder(folder)
    return (JSON.parse(stdout) as { changes: readonly { sentence: string }[] }).changes.map(({ sentence }) => sentence)
  }
})
