/** An editor for tests: the real program over its standard streams, and a copy of a project. */
import { spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  createProtocolConnection,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  type InitializeResult,
  type Position,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  type Range,
  ShowMessageNotification,
  ShutdownRequest,
} from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { LAUNCHER, ROOT } from '../command.ts'
import { endWithTests, removeFolder } from '../ends-with-tests.ts'
import { until } from '../until.ts'

export class TestEditor {
  readonly folder: string
  readonly connection: ProtocolConnection
  readonly initialized: InitializeResult
  /** By URI: what the server told last. */
  readonly told = new Map<string, readonly Diagnostic[]>()
  /** By URI: the version of the text that this is about. */
  readonly toldAbout = new Map<string, number | undefined>()
  /** What the server showed to the user. */
  readonly messages: string[] = []
  readonly #child: ReturnType<typeof spawn>
  /** They grow for ever, also over a closing. */
  readonly #versions = new Map<string, number>()
  readonly #open = new Set<string>()
  readonly #texts = new Map<string, string>()

  private constructor(folder: string, child: ReturnType<typeof spawn>, connection: ProtocolConnection) {
    this.folder = folder
    this.connection = connection
    this.#child = child
    this.initialized = { capabilities: {} }
  }

  /** On a copy of `from`, with its policies, schemas and matrices. */
  static async open(from = ROOT, matrices = 'test/matrix'): Promise<TestEditor> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'sallyport-lsp-')))
    for (const one of ['policies', 'schemas']) await cp(join(from, one), join(folder, one), { recursive: true })
    const isMatrix = (path: string) => !path.endsWith('.ts') && !path.endsWith('predict')
    await cp(join(from, matrices), join(folder, 'test/matrix'), { recursive: true, filter: isMatrix })
    return TestEditor.on(folder)
  }

  static async on(folder: string): Promise<TestEditor> {
    const child = endWithTests(
      spawn(process.execPath, [LAUNCHER, 'lsp', '--stdio'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] }),
    )
    const connection = createProtocolConnection(child.stdout, child.stdin)
    const editor = new TestEditor(folder, child, connection)
    connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics, version }) => {
      editor.told.set(uri, diagnostics)
      editor.toldAbout.set(uri, version)
    })
    connection.onNotification(ShowMessageNotification.type, ({ message }) => {
      editor.messages.push(message)
    })
    connection.listen()
    const rootUri = pathToFileURL(folder).href
    const result = await connection.sendRequest(InitializeRequest.type, { processId: null, rootUri, capabilities: {} })
    Object.assign(editor.initialized, result)
    await connection.sendNotification(InitializedNotification.type, {})
    return editor
  }

  uri(file: string): string {
    return pathToFileURL(join(this.folder, file)).href
  }

  /** The text on disk. */
  read(file: string): Promise<string> {
    return readFile(join(this.folder, file), 'utf8')
  }

  /** Shows the file with this text, whether or not it is open yet; the disk keeps its own. */
  async type(file: string, text: string): Promise<void> {
    const uri = this.uri(file)
    const version = (this.#versions.get(file) ?? 0) + 1
    const isOpen = this.#open.has(file)
    this.#open.add(file)
    this.#versions.set(file, version)
    this.#texts.set(file, text)
    if (!isOpen) {
      const textDocument = { uri, languageId: 'plaintext', version, text }
      return this.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument })
    }
    const contentChanges = [{ text }]
    const textDocument = { uri, version }
    return this.connection.sendNotification(DidChangeTextDocumentNotification.type, { textDocument, contentChanges })
  }

  /** The text as it is open, or was last. */
  shown(file: string): string {
    return this.#texts.get(file) ?? ''
  }

  version(file: string): number {
    return this.#versions.get(file) ?? 0
  }

  isOpen(file: string): boolean {
    return this.#open.has(file)
  }

  async close(file: string): Promise<void> {
    this.#open.delete(file)
    await this.connection.sendNotification(DidCloseTextDocumentNotification.type, {
      textDocument: { uri: this.uri(file) },
    })
  }

  /** Waits until the findings of the file are such. */
  async findings(file: string, isSo: (found: readonly Diagnostic[]) => boolean): Promise<readonly Diagnostic[]> {
    await until(() => isSo(this.told.get(this.uri(file)) ?? []))
    return this.told.get(this.uri(file)) ?? []
  }

  /** The exit code. */
  async end(): Promise<number | null> {
    await this.connection.sendRequest(ShutdownRequest.type)
    await this.connection.sendNotification(ExitNotification.type)
    await until(() => this.#child.exitCode !== null)
    await removeFolder(this.folder)
    return this.#child.exitCode
  }

  /** Ends without a word, as an editor that crashes. The exit code. */
  async vanish(): Promise<number | null> {
    this.#child.stdin?.end()
    await until(() => this.#child.exitCode !== null)
    await removeFolder(this.folder)
    return this.#child.exitCode
  }
}

/** The words of a text that a range holds. */
export function wordsAt(text: string, range: Range): string {
  return TextDocument.create('', '', 0, text).getText(range)
}

/** The text without its `¦`, and where that stood. */
export function cursorIn(marked: string): { readonly text: string; readonly position: Position } {
  const at = marked.indexOf('¦')
  const text = marked.replace('¦', '')
  return { text, position: TextDocument.create('', '', 0, text).positionAt(at) }
}
