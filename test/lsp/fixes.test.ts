/** A quick fix does what the hint says: with it the finding is gone, and nothing else has changed. */
import { expect } from 'chai'
import { type CodeAction, CodeActionRequest, type Diagnostic, type TextEdit } from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { TestEditor } from './editor.ts'

const RULES = 'policies/policy.csv'

/** The mistake is what stands in the file in place of `good`; the fix leads back to it. */
const WORDS: readonly (readonly [file: string, good: string, bad: string, code: string])[] = [
  [RULES, 'p, support, users,', 'p, suport, users,', 'unknown-role'],
  [RULES, 'p, support, users,', 'p, support, user,', 'unknown-resource'],
  [RULES, 'notes,    list|read|create', 'notes,    list|GET|create', 'unknown-action'],
  [RULES, 'owner+draft>placed', 'owner+draft>placd', 'unknown-relation'],
  [RULES, 'contact,  allow', 'contakt,  allow', 'unknown-view'],
  [RULES, 'g, support, member', 'g, suport, member', 'unknown-role'],
  ['policies/roles.yaml', 'privileged: true', 'privilegd: true', 'yaml-shape'],
  ['policies/views.yaml', 'displayName, bio]', 'displayNam, bio]', 'unknown-field'],
  ['policies/limits.yaml', 'role: member', 'role: membr', 'unknown-role'],
  [
    'policies/guarantees.yaml',
    'resource: users, actions: [read]',
    'resource: user, actions: [read]',
    'unknown-resource',
  ],
]

/** A line too much, or characters that nobody sees. */
const DELETED: readonly (readonly [file: string, good: string, bad: string, code: string])[] = [
  [RULES, '# Auditors', 'p, member, notes, read, owner, *, allow\n# Auditors', 'rule-covered'],
  [RULES, 'g, support, member\n', 'g, support, member\ng, support, member\n', 'duplicate-rule'],
  [RULES, 'g, support, member', '# check-ignore rule-covered: so\ng, support, member', 'suppression-unused'],
  [RULES, 'g, support, member\n', 'g, support, member  \n', 'trailing-space'],
  [RULES, 'g, support, member', 'g, support,\u{200B} member', 'invisible-character'],
  ['policies/blocked.txt', '# Users', 'user:x\nuser:x\n# Users', 'duplicate-block'],
]

describe('a quick fix', () => {
  let editor: TestEditor
  before(async () => {
    editor = await TestEditor.open()
  })
  after(async () => {
    await editor.end()
  })

  for (const [file, good, bad, code] of WORDS) {
    it(`writes the word that was meant: ${JSON.stringify(bad)}`, async () => {
      const text = await editor.read(file)
      const fixed = await fix(file, text.replace(good, bad), code, /^Write /)
      expect(fixed).to.equal(text)
      await gone(file, fixed, code)
    })
  }

  for (const [file, good, bad, code] of DELETED) {
    it(`deletes what is too much: ${code}`, async () => {
      const broken = (await editor.read(file)).replace(good, bad)
      const fixed = await fix(file, broken, code, /^Delete /)
      expect(fixed.length).to.be.lessThan(broken.length)
      await gone(file, fixed, code)
    })
  }

  it('suppresses a warning where it stands, and leaves the reason to the person', async () => {
    const text = await editor.read(RULES)
    const bad = text.replace('# Auditors', 'p, member, notes, read, owner, *, allow\n# Auditors')
    const fixed = await fix(RULES, bad, 'rule-covered', /^Suppress /)
    await editor.type(RULES, fixed)
    await editor.findings(RULES, (found) => found.some((one) => one.code === 'suppression-form'))
    await gone(RULES, fixed.replace('rule-covered: \n', 'rule-covered: we say it twice\n'), 'rule-covered')
  })

  it('is not offered where the hint is no edit of the text', async () => {
    const text = await editor.read(RULES)
    expect(await offered(RULES, text.replace('g, support, member', 'g, support'), 'rule-columns')).to.deep.equal([])
    await gone(RULES, text, 'rule-columns')
  })

  it('is not offered for a finding of another program', async () => {
    await editor.type(RULES, await editor.read(RULES))
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }
    const finding: Diagnostic = { range, message: '`#`\ndelete the line', code: 'x', source: 'other' }
    expect(await actions(RULES, [finding])).to.deep.equal([])
  })

  async function actions(file: string, diagnostics: readonly Diagnostic[]): Promise<readonly CodeAction[]> {
    const [first] = diagnostics
    const found = await editor.connection.sendRequest(CodeActionRequest.type, {
      textDocument: { uri: editor.uri(file) },
      range: first?.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
      context: { diagnostics: [...diagnostics] },
    })
    return (found ?? []) as readonly CodeAction[]
  }

  /** The titles of the fixes of the finding with the code. */
  async function offered(file: string, text: string, code: string): Promise<readonly CodeAction[]> {
    await editor.type(file, text)
    const found = await editor.findings(file, (all) => all.some((one) => one.code === code))
    return actions(
      file,
      found.filter((one) => one.code === code),
    )
  }

  /** The text after the first such fix. */
  async function fix(file: string, text: string, code: string, title: RegExp): Promise<string> {
    const found = (await offered(file, text, code)).find((one) => title.test(one.title))
    const edits: readonly TextEdit[] = found?.edit?.changes?.[editor.uri(file)] ?? []
    expect(edits.length, `fixes of ${code}`).to.equal(1)
    return TextDocument.applyEdits(TextDocument.create('', '', 0, text), [...edits])
  }

  async function gone(file: string, text: string, code: string): Promise<void> {
    await editor.type(file, text)
    await editor.findings(file, (found) => found.every((one) => one.code !== code))
    await editor.type(file, await editor.read(file))
    await editor.findings(file, (found) => found.length === 0)
  }
})
