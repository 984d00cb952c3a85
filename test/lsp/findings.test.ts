/** What an editor is told about the texts that it shows is what the commands say about the same files. */
import { cp, mkdtemp, rename, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Diagnostic as Shown } from 'vscode-languageserver/node'
import type { Diagnostic } from '../../src/base/diagnostic.ts'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { until } from '../until.ts'
import { TestEditor, wordsAt } from './editor.ts'

const RULES = 'policies/policy.csv'
const none = (found: readonly Shown[]) => found.length === 0
const some = (found: readonly Shown[]) => found.length > 0
const codes = (found: readonly Shown[]) => found.map(({ code }) => code)

/** Each is a mistake in one file of the shipped policy. */
const MISTAKES: readonly (readonly [file: string, before: string, after: string])[] = [
  [RULES, 'list|read|create|replace', 'list|raed|create|replace'],
  [RULES, 'p, support, users', 'p, suport, users'],
  [RULES, 'g, support, member', 'g, support, member\ng, member, support'],
  [
    RULES,
    'p, auditor, system/health, read',
    'p, everyone, notes, delete, any, *, allow\np, auditor, system/health, read',
  ],
  [RULES, '# Members work', 'p, "user:a, b", notes, read, ownr, *, allow\n# Members work'],
  [RULES, 'p, member, orders,   create', 'p, anonymous, users, list|read, any, *, allow\np, member, orders,   create'],
  ['policies/roles.yaml', 'privileged: true', 'privilged: true'],
  ['policies/ownership.yaml', 'ownerId', 'ownrId'],
  ['policies/views.yaml', 'displayName, bio]', 'displayNam, bio]'],
  ['policies/limits.yaml', 'role: member', 'role: membr'],
  ['policies/guarantees.yaml', 'resource: users, actions: [read]', 'resource: user, actions: [read]'],
  ['policies/blocked.txt', '# Users', 'mallory\n# Users'],
]

describe('the findings of an editor', () => {
  let editor: TestEditor
  before(async () => {
    editor = await TestEditor.open()
  })
  after(async () => {
    expect(await editor.end()).to.equal(0)
  })

  for (const [file, before, after] of MISTAKES) {
    it(`are those of policy check: ${file} with ${JSON.stringify(after)}`, async () => {
      const good = await editor.read(file)
      const bad = good.replace(before, after)
      expect(bad).to.not.equal(good)
      const wanted = await checked(file, bad)
      expect(wanted.length).to.be.greaterThan(0)
      await editor.type(file, bad)
      const about = wanted.filter((one) => one.file === file)
      expect((await editor.findings(file, some)).map(asShown)).to.deep.equal(about.map(asSaid))
      for (const other of new Set(wanted.map((one) => one.file))) {
        const count = wanted.filter((one) => one.file === other).length
        await editor.findings(other, (found) => found.length === count)
      }
      await editor.type(file, good)
      await editor.findings(file, none)
    })
  }

  it('stand at the word that is meant, counted in UTF-16', async () => {
    const good = await editor.read(RULES)
    const bad = good.replace('# Members', 'p, "user:\u{1F600}\u{1F600}", nots, read, any, *, allow\n# Members')
    await editor.type(RULES, bad)
    const [found] = await editor.findings(RULES, some)
    expect(found && wordsAt(bad, found.range)).to.equal('nots')
    expect(found?.range.start.character).to.equal('p, "user:\u{1F600}\u{1F600}", '.length)
    // A carriage return alone ends a line for an editor, and not for the reader of the rules.
    const withReturn = `# one\rtwo\np, membr, notes, read, any, *, allow\n`
    await editor.type(RULES, withReturn)
    const later = await editor.findings(RULES, (all) => codes(all).includes('unknown-role'))
    expect(later.map(({ range }) => wordsAt(withReturn, range))).to.include('membr')
    await editor.type(RULES, good)
    await editor.findings(RULES, none)
  })

  it('tell the guarantee that the text breaks', async () => {
    const good = await editor.read(RULES)
    await editor.type(
      RULES,
      good.replace('p, member, users,    read', 'p, anonymous, users, read, any, *, allow\np, member, users,    read'),
    )
    await editor.findings(RULES, (found) => codes(found).includes('guarantee-broken'))
    await editor.type(RULES, good)
    await editor.findings(RULES, none)
  })

  it('are of the disk again when the text is closed without saving', async () => {
    await editor.type(RULES, 'p, nobody, notes, read, any, *, allow\n')
    await editor.findings(RULES, some)
    await editor.close(RULES)
    await editor.findings(RULES, none)
  })

  it('are also of schemas, and the policy keeps its last good ones', async () => {
    const file = 'schemas/notes.json'
    const good = await editor.read(file)
    await editor.type(file, good.replace('"ownerId"', '"ownerId", "ownerId"').replace('"maxLength"', '"maxLenght"'))
    const found = await editor.findings(file, some)
    expect(found.every(({ severity }) => severity === 1)).to.equal(true)
    await editor.type(RULES, (await editor.read(RULES)).replace('p, support, users', 'p, suport, users'))
    expect(codes(await editor.findings(RULES, some))).to.deep.equal(['unknown-role'])
    await editor.type(file, good)
    await editor.type(RULES, await editor.read(RULES))
    await editor.findings(file, none)
    await editor.findings(RULES, none)
  })

  it('are also of cells of a matrix: what the policy answers otherwise, and faults', async () => {
    const file = 'test/matrix/notes.csv'
    const good = await editor.read(file)
    const wrong = good.replace('POST,/api/v1/notes,none,,401,403,201', 'POST,/api/v1/notes,none,,401,403,200')
    await editor.type(file, wrong)
    const [found] = await editor.findings(file, some)
    expect(found?.code).to.equal('cell-wrong')
    expect(found && wordsAt(wrong, found.range)).to.equal('200')
    await editor.type(file, good.replace('GET|HEAD', 'GTE|HEAD'))
    expect(codes(await editor.findings(file, (all) => !codes(all).includes('cell-wrong')))).to.deep.equal([
      'matrix-method',
    ])
    await editor.type(file, good)
    await editor.findings(file, none)
  })

  it('of a text that is too large say just that', async () => {
    await editor.type(RULES, `# ${'x'.repeat(16 * 1024 * 1024)}\n`)
    const [found] = await editor.findings(RULES, some)
    expect(found?.message).to.include('characters')
    await editor.type(RULES, await editor.read(RULES))
    await editor.findings(RULES, none)
  })

  it('are of the folders that the editor names, and not of those that `.env` names', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-env-'))
    for (const part of ['policies', 'schemas']) await cp(join(ROOT, part), join(folder, part), { recursive: true })
    await writeFile(join(folder, '.env'), 'POLICIES=elsewhere\nSCHEMAS=elsewhere\n')
    const other = await TestEditor.on(folder)
    await other.type(RULES, 'p, nobody, notes, read, any, *, allow\n')
    expect(codes(await other.findings(RULES, some))).to.include('unknown-role')
    await other.end()
  })

  it('end with the editor: a server whose input ends goes too', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-gone-'))
    const other = await TestEditor.on(folder)
    expect(await other.vanish()).to.equal(1)
  })

  it('of a project below the open folder are found too', async () => {
    for (const part of ['policies', 'schemas']) {
      await cp(join(ROOT, 'examples/projects', part), join(editor.folder, 'inner', part), { recursive: true })
    }
    const file = 'inner/policies/policy.csv'
    await editor.type(file, `p, nobody, tasks, read, any, *, allow\n${await editor.read(file)}`)
    expect(codes(await editor.findings(file, some))).to.include('unknown-role')
  })

  it('read no file through a link that leads out, and say so', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'sallyport-outside-'))
    await writeFile(join(outside, 'secret.yaml'), 'secret: from outside\n')
    const inside = join(editor.folder, 'policies/roles.yaml')
    await rename(inside, `${inside}~`)
    await symlink(join(outside, 'secret.yaml'), inside)
    await editor.type(RULES, `${await editor.read(RULES)}\n`)
    await until(() => editor.messages.some((message) => message.includes('leads out')))
    await rename(`${inside}~`, inside)
    await editor.type(RULES, (await editor.read(RULES)).replace('p, support, users', 'p, suport, users'))
    await editor.findings(RULES, some)
    expect(JSON.stringify([...editor.told, ...editor.messages])).to.not.include('from outside')
    await removeFolder(outside)
  })

  /** What `policy check` says about the same files on disk. */
  async function checked(file: string, text: string): Promise<readonly Diagnostic[]> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-checked-'))
    for (const part of ['policies', 'schemas']) await cp(join(ROOT, part), join(folder, part), { recursive: true })
    await writeFile(join(folder, file), text)
    const { stdout } = await sallyport(['policy', 'check', '--format', 'json'], { cwd: folder })
    await removeFolder(folder)
    return (JSON.parse(stdout) as { findings: readonly Diagnostic[] }).findings
  }
})

type Said = Pick<Diagnostic, 'line' | 'code' | 'severity'> & Pick<Shown, 'message'>

function asShown({ range, code, severity, message }: Shown): Said {
  return { line: range.start.line + 1, code: String(code), severity: severity === 1 ? 'error' : 'warning', message }
}

function asSaid({ line, code, severity, message, hint }: Diagnostic): Said {
  return { line, code, severity, message: hint === undefined ? message : `${message}\n${hint}` }
}
