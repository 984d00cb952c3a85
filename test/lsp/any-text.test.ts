/** Whatever text somebody has open, each question is answered, and each range lies within the text. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Diagnostic, InlayHint, Position, Range } from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { runs } from '../runs.ts'
import { until } from '../until.ts'
import { TestEditor } from './editor.ts'

const FILES = [
  'policies/policy.csv',
  'policies/roles.yaml',
  'policies/ownership.yaml',
  'policies/views.yaml',
  'policies/guarantees.yaml',
  'policies/limits.yaml',
  'policies/blocked.txt',
  'schemas/notes.json',
  'test/matrix/notes.csv',
  'test/matrix/sharing.yaml',
]

const QUESTIONS = ['completion', 'hover', 'definition', 'prepareRename', 'inlayHint', 'codeAction']

/** What people, editors and attackers put into a text. */
const INSERTED = [
  '"',
  ',',
  ' ',
  '\n',
  '\r',
  '\t',
  '#',
  '|',
  '+',
  '>',
  '!',
  '*',
  '&a',
  ': ',
  '- ',
  '{',
  '[',
  '}',
  '\u{1F600}',
  '\u{200B}',
  '\u{FEFF}',
  '\uD800',
  '__proto__',
  'constructor',
  '`',
  'p, , , , , ,',
  '% 00',
]

interface Change {
  readonly at: number
  readonly deleted: number
  readonly inserted: readonly string[]
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  deleted: fc.oneof(fc.nat(3), fc.nat(400)),
  inserted: fc.array(fc.constantFrom(...INSERTED), { maxLength: 4 }),
})

describe('an editor with any text', () => {
  let editor: TestEditor
  before(async () => {
    editor = await TestEditor.open()
  })
  after(async () => {
    expect(await editor.end()).to.equal(0)
  })

  it('gets an answer to each question, with ranges within the text', async () => {
    const file = fc.constantFrom(...FILES)
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (name, changes, where) => {
          const text = changes.reduce(changed, await editor.read(name))
          const document = TextDocument.create('', '', 0, text)
          await editor.type(name, text)
          for (const question of QUESTIONS)
            await ask(name, question, document.positionAt(Math.floor(where * text.length)))
          const uri = editor.uri(name)
          await until(() => editor.toldAbout.get(uri) === editor.version(name) || !editor.told.has(uri))
          for (const { range } of editor.told.get(uri) ?? []) within(document, range)
          await editor.close(name)
        },
      ),
      { numRuns: runs(100, 10) },
    )
  })

  const HUGE: readonly (readonly [file: string, text: string])[] = [
    ['policies/policy.csv', 'p,'.repeat(3_000_000)],
    ['policies/policy.csv', `${' '.repeat(3_000_000)}x`],
    ['policies/policy.csv', '"\n'.repeat(20_001)],
    ['policies/roles.yaml', '['.repeat(200_000)],
    ['policies/views.yaml', 'a: &a [*a, *a]\n'.repeat(500)],
    ['schemas/notes.json', '{"a":'.repeat(100_000)],
    ['test/matrix/notes.csv', ','.repeat(3_000_000)],
  ]
  for (const [file, text] of HUGE) {
    it(`gets an answer in the face of ${JSON.stringify(text.slice(0, 10))} again and again in ${file}`, async () => {
      await editor.type(file, text)
      for (const question of QUESTIONS) await ask(file, question, { line: 0, character: 1 })
      await editor.findings(file, (found) => found.length > 0)
      await editor.close(file)
    })
  }

  it('of which some is no file of this machine gets its answers too', async () => {
    for (const uri of [
      'untitled:Untitled-1',
      'file://other/policies/policy.csv',
      'file:///a%2Fb',
      'file:///policies/%00',
    ]) {
      const textDocument = { uri, languageId: 'csv', version: 1, text: 'p' }
      await editor.connection.sendNotification('textDocument/didOpen', { textDocument })
    }
    await editor.type('policies/policy.csv', 'p, nobody, notes, read, any, *, allow\n')
    await editor.findings('policies/policy.csv', (found) => found.length > 0)
    await editor.close('policies/policy.csv')
  })

  it('of which a file is gone is told so, and the rest once it is there again', async () => {
    await editor.type('policies/policy.csv', await editor.read('policies/policy.csv'))
    await editor.type('policies/roles.yaml', '\u{0000}')
    await editor.findings('policies/roles.yaml', (found) => found.length > 0)
    await editor.close('policies/roles.yaml')
    await until(() => (editor.told.get(editor.uri('policies/roles.yaml')) ?? []).length === 0)
  })

  async function ask(file: string, question: string, position: Position): Promise<void> {
    const textDocument = { uri: editor.uri(file) }
    const range = { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } }
    const diagnostics: readonly Diagnostic[] = editor.told.get(editor.uri(file)) ?? []
    const params = { textDocument, position, range, context: { diagnostics } }
    const answer: unknown = await editor.connection.sendRequest(`textDocument/${question}`, params)
    if (question !== 'inlayHint') return
    const lines = editor.shown(file).split('\n').length
    for (const hint of answer as readonly InlayHint[]) expect(hint.position.line).to.be.below(lines)
  }
})

function changed(text: string, { at, deleted, inserted }: Change): string {
  const from = Math.floor(at * text.length)
  return `${text.slice(0, from)}${inserted.join('')}${text.slice(from + deleted)}`
}

/** An editor would move a place beyond the end of a line or of the text. */
function within(document: TextDocument, { start, end }: Range): void {
  expect(document.positionAt(document.offsetAt(start))).to.deep.equal(start)
  expect(document.positionAt(document.offsetAt(end))).to.deep.equal(end)
  expect(document.offsetAt(end)).to.be.at.least(document.offsetAt(start))
}
