/** `policy names` says without an editor what the language server offers in one. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { CompletionRequest } from 'vscode-languageserver/node'
import { ROOT, sallyport } from '../command.ts'
import { TestEditor } from './editor.ts'

const FILES = ['policies/policy.csv', 'policies/views.yaml', 'policies/guarantees.yaml', 'test/matrix/orders.csv']

describe('policy names', () => {
  let editor: TestEditor
  before(async () => {
    editor = await TestEditor.open()
  })
  after(() => editor.end())

  for (const file of FILES) {
    it(`lists what an editor offers: ${file}`, async () => {
      const text = await readFile(join(ROOT, file), 'utf8')
      await editor.type(file, text)
      const textDocument = { uri: editor.uri(file) }
      const found = await Promise.all(
        placesIn(text).map(async ({ line, column }) => {
          const position = { line: line - 1, character: column - 1 }
          const items = await editor.connection.sendRequest(CompletionRequest.type, { textDocument, position })
          const { stdout } = await sallyport(['policy', 'names', `${file}:${line}:${column}`, '--format', 'json'])
          return { items: Array.isArray(items) ? items : [], printed: JSON.parse(stdout) }
        }),
      )
      for (const { items, printed } of found) {
        expect(printed.names.map(({ name }: { name: string }) => name)).to.deep.equal(items.map(({ label }) => label))
        const edit = items[0]?.textEdit
        if (!edit || !('range' in edit)) continue
        const { start, end } = edit.range
        expect(printed.place).to.deep.equal({ file, line: start.line + 1, column: start.character + 1 })
        expect(printed.length).to.equal(end.character - start.character)
      }
      expect(found.filter(({ items }) => items.length > 0)).not.to.deep.equal([])
    })
  }

  it('says what is wrong with a place in a sentence', async () => {
    const sentence = async (...args: readonly string[]) => (await sallyport(['policy', 'names', ...args])).stderr
    expect(await sentence('policies/policy.csv')).to.contain('is no place: write FILE:LINE:COLUMN')
    expect(await sentence('policies/policy.csv:99999:1')).to.contain('has no line 99999 with a column 1')
    expect(await sentence('policies/policy.csv:1:9999')).to.contain('has no line 1 with a column 9999')
    expect(await sentence('policies/none.csv:1:1')).to.contain("can't be read")
    expect(await sentence('README.md:1:1')).to.contain('is in no folder that was named')
    expect(await sentence('policies/policy.csv:1:1', '--policies', 'schemas')).to.contain('is in no folder')
    expect(await sentence('policies/roles.yaml:1:1')).to.equal('no name is known that may stand there\n')
  })
})

/** Some places of the text, each in another line. */
function placesIn(text: string): readonly { readonly line: number; readonly column: number }[] {
  const lines = text.split('\n').flatMap((one, i) => (/^\s*(#|$)/.test(one) ? [] : [{ one, line: i + 1 }]))
  return lines.slice(0, 30).map(({ one, line }, i) => ({ line, column: 1 + ((i * 7 + 3) % (one.length + 1)) }))
}
