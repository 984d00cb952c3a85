/** A renamed role, relation, view or condition is renamed everywhere, and no request is decided differently. */
import { cp, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  type Position,
  PrepareRenameRequest,
  RenameRequest,
  type ResponseError,
  type TextEdit,
  type WorkspaceEdit,
} from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { parse } from 'yaml'
import { unmetFindings } from '../../src/tools/matrix/predict/expectations-met.ts'
import { readPredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { runs } from '../runs.ts'
import { cursorIn, TestEditor } from './editor.ts'

const RULES = 'policies/policy.csv'

describe('renaming', () => {
  let editor: TestEditor
  before(async () => {
    editor = await TestEditor.open(join(ROOT, 'examples/projects'), 'matrices')
  })
  after(async () => {
    await editor.end()
  })

  it('of any name changes no decision, and every matrix states what it stated', async () => {
    const before = await tableOf(editor.folder)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...(await declaredNames())), async ([file, path]) => {
        const name = path.at(-1) ?? ''
        const edits = await rename(file, await declarationOf(file, path), `${name}zz`)
        const copy = await applied(edits)
        expect((await tableOf(copy)).replaceAll(`${name}zz`, name)).to.equal(before)
        const folders = { policies: join(copy, 'policies'), schemas: join(copy, 'schemas') }
        const suite = await readPredictedSuite({ ...folders, matrices: [join(copy, 'test/matrix')] }, Date.now())
        expect(await unmetFindings(suite)).to.deep.equal([])
        await removeFolder(copy)
      }),
      { numRuns: runs(15, 1) },
    )
  })

  it('changes the open text, not the one on disk', async () => {
    const text = await editor.read('policies/roles.yaml')
    await editor.type('policies/roles.yaml', `# A line more.\n${text}`)
    const edits = await rename('policies/roles.yaml', { line: 1 + lineOf(text, 'member:'), character: 2 }, 'person')
    const [first] = edits.get(editor.uri('policies/roles.yaml')) ?? []
    expect(first?.range.start.line).to.equal(1 + lineOf(text, 'member:'))
    await editor.close('policies/roles.yaml')
  })

  it('of a relation that one line names for several resources renames it in each of them', async () => {
    const ownership = await editor.read('policies/ownership.yaml')
    const edits = await rename('policies/ownership.yaml', positionOf(ownership, 'tenant: { field: id'), 'office2')
    const changed = edits.get(editor.uri('policies/ownership.yaml')) ?? []
    expect(changed.length).to.be.greaterThan(5)
  })

  const REFUSED: readonly (readonly [why: string, marked: string, newName: string, message: RegExp])[] = [
    ['that exists', 'p, mem¦ber, tasks, read, mine, *, allow', 'admin', /can't be the name/],
    ['without the form of a name', 'p, mem¦ber, tasks, read, mine, *, allow', 'A Member', /can't be the name/],
    ['with a meaning of its own', 'p, mem¦ber, tasks, read, mine, *, allow', 'everyone', /can't be the name/],
    ['that is a condition', 'p, member, tasks, read, mi¦ne, *, allow', 'office', /can't be the name/],
    ['that a matrix would read otherwise', 'p, member, tasks, read, te¦am, *, allow', 'all', /means something else/],
    ['owner', 'p, member, tasks, read, mi¦ne, *, allow', 'owner', /meaning of its own/],
    ['of an action', 'p, member, tasks, re¦ad, mine, *, allow', 'look', /only a role/],
  ]
  for (const [why, marked, newName, message] of REFUSED) {
    it(`is refused for a name ${why}`, async () => {
      const { text, position } = cursorIn(`${marked}\n`)
      await editor.type(RULES, `${text}${await editor.read(RULES)}`)
      const error = await renaming(RULES, position, newName).catch((reason: ResponseError) => reason)
      expect((error as ResponseError).message).to.match(message)
      await editor.close(RULES)
    })
  }

  it('is refused while a file has a fault, because names in it could be missed', async () => {
    await editor.type('test/matrix/tasks.csv', 'method,path,object,"member\n')
    const rules = await editor.read(RULES)
    const error = await renaming(RULES, positionOf(rules, 'member, '), 'person').catch((reason: Error) => reason)
    expect((error as Error).message).to.include('fix this first: test/matrix/tasks.csv')
    await editor.close('test/matrix/tasks.csv')
  })

  it('is offered for what can be renamed alone', async () => {
    const rules = await editor.read(RULES)
    await editor.type(RULES, rules)
    const offered = (words: string) =>
      editor.connection.sendRequest(PrepareRenameRequest.type, {
        textDocument: { uri: editor.uri(RULES) },
        position: positionOf(rules, words),
      })
    expect(await offered('member, tasks')).to.not.equal(null)
    expect(await offered('allow\n')).to.equal(null)
    await editor.close(RULES)
  })

  /** Paths of keys that declare a name. */
  async function declaredNames(): Promise<readonly (readonly [file: string, path: readonly string[]])[]> {
    const keysOf = async (file: string) => parse(await editor.read(file)) as Readonly<Record<string, object>>
    const [roles, views, ownership, conditions] = await Promise.all(
      ['roles', 'views', 'ownership', 'conditions'].map((name) => keysOf(`policies/${name}.yaml`)),
    )
    const inside = (all: object | undefined, ...keys: string[]) =>
      Object.entries(all ?? {}).flatMap(([resource, value]) => {
        const names = keys.reduce((at: object, key) => (at as Readonly<Record<string, object>>)[key] ?? {}, value)
        return Object.keys(names).map((name) => [resource, ...keys, name])
      })
    return [
      ...Object.keys(roles ?? {}).map((name) => ['policies/roles.yaml', [name]] as const),
      ...Object.keys(conditions ?? {}).map((name) => ['policies/conditions.yaml', [name]] as const),
      ...inside(views).map((path) => ['policies/views.yaml', path] as const),
      ...inside(ownership, 'relations').map((path) => ['policies/ownership.yaml', path] as const),
    ].filter(([, path]) => path.at(-1) !== 'owner')
  }

  async function declarationOf(file: string, path: readonly string[]): Promise<Position> {
    const lines = (await editor.read(file)).split('\n')
    let line = -1
    for (const [depth, key] of path.entries()) {
      line = lines.findIndex((text, i) => i > line && new RegExp(`^ {${2 * depth}}${key}:`).test(text))
    }
    return { line, character: 2 * (path.length - 1) + 1 }
  }

  async function renaming(file: string, position: Position, newName: string): Promise<WorkspaceEdit | null> {
    if (!editor.isOpen(file)) await editor.type(file, await editor.read(file))
    return editor.connection.sendRequest(RenameRequest.type, {
      textDocument: { uri: editor.uri(file) },
      position,
      newName,
    })
  }

  async function rename(file: string, position: Position, newName: string) {
    const { changes } = (await renaming(file, position, newName)) ?? {}
    const edits = new Map<string, readonly TextEdit[]>(Object.entries(changes ?? {}))
    expect(edits.size).to.be.greaterThan(0)
    await editor.close(file)
    return edits
  }

  /** A copy of the project with these edits. */
  async function applied(edits: ReadonlyMap<string, readonly TextEdit[]>): Promise<string> {
    const copy = await mkdtemp(join(tmpdir(), 'sallyport-renamed-'))
    for (const part of ['policies', 'schemas', 'test']) {
      await cp(join(editor.folder, part), join(copy, part), { recursive: true })
    }
    for (const name of await readdir(copy, { recursive: true })) {
      const some = edits.get(editor.uri(name))
      if (!some) continue
      const document = TextDocument.create('', '', 0, await readFile(join(copy, name), 'utf8'))
      await writeFile(join(copy, name), TextDocument.applyEdits(document, [...some]))
    }
    return copy
  }

  /** What each caller can do. */
  async function tableOf(folder: string): Promise<string> {
    const { stdout, code } = await sallyport(['policy', 'matrix', '--format', 'csv'], { cwd: folder })
    expect(code).to.equal(0)
    return stdout
  }
})

function lineOf(text: string, words: string): number {
  return text.slice(0, text.indexOf(words)).split('\n').length - 1
}

function positionOf(text: string, words: string): Position {
  return TextDocument.create('', '', 0, text).positionAt(text.indexOf(words) + 1)
}
