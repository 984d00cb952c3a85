/** What an editor tells about a line and a name: the sentences of `policy diff`, and the place of the declaration. */
import { appendFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  DefinitionRequest,
  type Hover,
  HoverRequest,
  type Location,
  type MarkupContent,
  type Position,
} from 'vscode-languageserver/node'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { cursorIn, TestEditor, wordsAt } from './editor.ts'

const RULES = 'policies/policy.csv'

describe('what an editor tells', () => {
  let editor: TestEditor
  let text: string
  before(async () => {
    editor = await TestEditor.open()
    text = await editor.read(RULES)
  })
  after(async () => {
    await editor.end()
  })

  for (const line of ['p, member, users,    update', 'g, support, member', 'p, auditor, *, ', 'p, everyone, users,']) {
    it(`about a line is what policy diff tells about its absence: ${line}`, async () => {
      const sentences = await differencesWithout(line)
      expect(sentences.length).to.be.greaterThan(0)
      const shown = await hover(RULES, text, positionOf(text, line))
      for (const sentence of sentences) expect(shown).to.include(`- ${sentence}`)
    })
  }

  it('about a line that grants nothing more is that', async () => {
    const twice = text.replace('# Auditors', 'p, member, notes, read, owner, *, allow\n# Auditors')
    const shown = await hover(RULES, twice, positionOf(twice, 'p, member, notes, read, '))
    expect(shown).to.include('This line alone\n- member gains read on notes (owner)')
    expect(shown).to.include('Without this line, every request would be decided alike.')
  })

  it('about a line is how many cells of policy matrix it decides', async () => {
    const { stdout } = await sallyport(['policy', 'matrix', '--resource', 'orders', '--format', 'json'])
    const place = `policy.csv:${positionOf(text, 'p, member, orders,   delete').line + 1}`
    interface Cell {
      readonly rules: readonly { readonly place: string }[]
    }
    const cells = (JSON.parse(stdout).rows as { cells: readonly Cell[] }[]).flatMap((row) => row.cells)
    const decided = cells.filter(({ rules }) => rules.some((one) => one.place === place)).length
    expect(decided).to.be.greaterThan(0)
    expect(await hover(RULES, text, positionOf(text, 'p, member, orders,   delete'))).to.include(
      `It decides ${decided} of ${cells.length} cells of sallyport policy matrix --resource orders.`,
    )
  })

  it('about a line is when a request was decided by it last, where there is a log', async () => {
    const line = 'p, member, notes,    list'
    const at = positionOf(text, line)
    expect(await hover(RULES, text, at)).to.not.match(/Last used|decision log/)
    const { revision } = JSON.parse((await sallyport(['policy', 'matrix', '--format', 'json'])).stdout)
    const record = (time: string, rule: string, of: string) =>
      `${JSON.stringify({ record: 'decision', time, requestId: time, revision: of, method: 'GET', status: 200, outcome: 'allowed', rules: [rule] })}\n`
    const rule = `policy.csv:${at.line + 1}`
    await mkdir(join(editor.folder, 'data'))
    const log = join(editor.folder, 'data/decisions.log')
    await writeFile(log, record('2026-01-03T00:00:00.000Z', rule, '0000000000000000'))
    expect(await hover(RULES, text, at)).to.include('No request in the decision log was decided by it as it is saved.')
    await appendFile(log, record('2026-01-01T00:00:00.000Z', rule, revision))
    await appendFile(log, record('2026-01-02T00:00:00.000Z', 'policy.csv:1', revision))
    expect(await hover(RULES, text, at)).to.include('Last used 2026-01-01T00:00:00.000Z.')
    // Typed above it, and not saved: the line has another number now, and its saved one in the log.
    const typed = `# new\n${text}`
    expect(await hover(RULES, typed, positionOf(typed, line))).to.include('Last used 2026-01-01T00:00:00.000Z.')
    const changed = text.replace(line, 'p, member, notes,  read|list')
    expect(await hover(RULES, changed, positionOf(changed, 'p, member, notes,  read|list'))).to.not.match(/Last used/)
    await rm(log)
    await symlink(log, log)
    expect(await hover(RULES, text, at)).to.match(/It decides \d+ .*\. The decision log could not be read: .+\.$/m)
    await rm(log)
  })

  it('about a line counts no cells where an editor would wait for them', async () => {
    const people = Array.from({ length: 3000 }, (_, i) => `p, user:u${i}, notes, read, owner, *, allow\n`).join('')
    const crowded = text.replace('# end of policy', `${people}# end of policy`)
    const line = positionOf(crowded, 'p, member, notes,    list')
    expect(await hover(RULES, crowded, line))
      .to.include('This line')
      .and.not.include('It decides')
  })

  it('about a name is its meaning', async () => {
    expect(await hover(RULES, text, positionOf(text, 'support, orders, update'))).to.include('Helps customers')
    expect(await hover(RULES, text, positionOf(text, 'open>cancelled, progress'))).to.match(
      /relation open\norders: .*status/,
    )
    expect(await hover(RULES, text, positionOf(text, 'contact,  allow'))).to.include('users: id, displayName, email')
  })

  it('about a comment, or another file, is nothing', async () => {
    expect(await hover(RULES, text, positionOf(text, '# Auditors see'))).to.equal(undefined)
    expect(await hover('elsewhere/policy.csv', text, positionOf(text, 'p, member'))).to.equal(undefined)
  })

  it('about a policy with a fault is the meaning of names alone', async () => {
    const bad = text.replace('list|read', 'list|raed')
    expect(await hover(RULES, bad, positionOf(bad, 'support, orders, update'))).to.equal(
      'role support\nHelps customers; sees every order and changes its status. (privileged)',
    )
  })

  const DEFINITIONS: readonly (readonly [file: string, marked: string, declared: string, words: string])[] = [
    [RULES, 'p, sup¦port, orders, read, any, *, allow', 'policies/roles.yaml', 'support'],
    [RULES, 'p, support, orders, update, placed>ship¦ped, *, allow', 'policies/ownership.yaml', 'shipped'],
    [RULES, 'p, support, users, read, any, con¦tact, allow', 'policies/views.yaml', 'contact'],
    [RULES, 'p, support, us¦ers, read, any, contact, allow', 'schemas/users.json', ''],
    ['policies/limits.yaml', 'limits:\n  a: { match: { role: mem¦ber } }\n', 'policies/roles.yaml', 'member'],
    ['policies/views.yaml', 'orders:\n  progress: [sta¦tus]\n', 'schemas/orders.json', ''],
    ['test/matrix/orders.csv', 'method,path,object,member+aud¦itor\n', 'policies/roles.yaml', 'auditor'],
    [
      'test/matrix/orders.csv',
      'method,path,object,member\nGET,/api/orders/{id},owner+dr¦aft,200\n',
      'policies/ownership.yaml',
      'draft',
    ],
  ]
  for (const [file, marked, declared, words] of DEFINITIONS) {
    it(`leads from a name to its declaration: ${JSON.stringify(marked)}`, async () => {
      const { text: shown, position } = cursorIn(marked)
      await editor.type(file, shown)
      const textDocument = { uri: editor.uri(file) }
      const found = await editor.connection.sendRequest(DefinitionRequest.type, { textDocument, position })
      await editor.close(file)
      const [first, ...more] = found as readonly Location[]
      expect([first?.uri, more.length]).to.deep.equal([editor.uri(declared), 0])
      expect(first && wordsAt(await editor.read(declared), first.range)).to.equal(words)
    })
  }

  it('leads nowhere from a name that is not declared', async () => {
    const { text: shown, position } = cursorIn('p, nob¦ody, orders, read, any, *, allow')
    await editor.type(RULES, shown)
    const textDocument = { uri: editor.uri(RULES) }
    expect(await editor.connection.sendRequest(DefinitionRequest.type, { textDocument, position })).to.deep.equal([])
    await editor.close(RULES)
  })

  async function hover(file: string, shown: string, position: Position): Promise<string | undefined> {
    await editor.type(file, shown)
    const textDocument = { uri: editor.uri(file) }
    const found: Hover | null = await editor.connection.sendRequest(HoverRequest.type, { textDocument, position })
    await editor.close(file)
    return found ? (found.contents as MarkupContent).value : undefined
  }

  /** The sentences of `policy diff` from the policy without the line to the policy with it. */
  async function differencesWithout(line: string): Promise<readonly string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-without-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    const lines = text.split('\n').filter((one) => !one.startsWith(line))
    await writeFile(join(folder, 'policy.csv'), lines.join('\n'))
    const { stdout } = await sallyport(['policy', 'diff', folder, 'policies', '--format', 'json'], { cwd: ROOT })
    await removeFolder(folder)
    return (JSON.parse(stdout) as { changes: readonly { sentence: string }[] }).changes.map(({ sentence }) => sentence)
  }
})

/** The last character of the words before their last sign, so that a name is at the place. */
function positionOf(text: string, words: string): Position {
  const before = text.slice(0, text.indexOf(words) + 1).split('\n')
  return { line: before.length - 1, character: (before.at(-1) ?? '').length }
}
