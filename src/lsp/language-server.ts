/** What an editor asks and is told, over its connection. Each question has a file of its own. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  CodeActionKind,
  type Connection,
  createConnection,
  DidChangeWatchedFilesNotification,
  type InitializeParams,
  type InitializeResult,
  MessageType,
  type Position,
  ProposedFeatures,
  ShowMessageNotification,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import type { StandardStreams } from '../base/command-process.ts'
import { textsBefore } from './committed.ts'
import { completionsAt } from './completion.ts'
import { definitionsOf } from './definition.ts'
import { Diagnoser } from './diagnose.ts'
import type { FoldersInEditor } from './edited-project.ts'
import { fixesFor } from './fixes.ts'
import { hoverAt } from './hover.ts'
import { meaningsIn } from './meaning.ts'
import { questionAbout } from './question.ts'
import { renameAt, renamedAt } from './rename.ts'
import { Workspace } from './workspace.ts'

/** Ends the process when the editor does. */
export function serveEditor(
  { stdin, stdout }: Pick<StandardStreams, 'stdin' | 'stdout'>,
  folders: FoldersInEditor,
  log: string | undefined,
): void {
  const connection = createConnection(ProposedFeatures.all, stdin, stdout)
  const documents = new TextDocuments(TextDocument)
  connection.onInitialize((params) => initialize(connection, documents, { folders, log, params }))
  documents.listen(connection)
  connection.listen()
}

interface EditorStart {
  readonly folders: FoldersInEditor
  /** A decision log; it may not be there. */
  readonly log: string | undefined
  readonly params: InitializeParams
}

function initialize(
  connection: Connection,
  documents: TextDocuments<TextDocument>,
  { folders, log, params }: EditorStart,
): InitializeResult {
  const root = rootOf(params)
  // Messages name files from here, as those of commands do.
  process.chdir(root)
  const workspace = new Workspace(root, { ...folders, ...foldersIn(params.initializationOptions) }, documents)
  const diagnoser = new Diagnoser(workspace, {
    publish: (diagnostics) => send(connection.sendDiagnostics(diagnostics)),
    complain: (message) =>
      send(connection.sendNotification(ShowMessageNotification.type, { type: MessageType.Error, message })),
  })
  const changed = ({ document }: { readonly document: TextDocument }) => {
    const path = workspace.pathOf(document.uri)
    const project = path === undefined ? undefined : workspace.projectOf(path)
    if (project) diagnoser.changed(project)
  }
  const changedAll = () => {
    for (const project of workspace.projects) diagnoser.changed(project)
  }
  documents.onDidChangeContent(changed)
  documents.onDidClose(changed)
  documents.onDidSave(changed)
  connection.onDidChangeWatchedFiles(changedAll)
  answerQuestions(connection, documents, { workspace, log })
  connection.onInitialized(() => watchFiles(connection, params))
  return {
    serverInfo: { name: 'sallyport' },
    capabilities: {
      textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
      hoverProvider: true,
      definitionProvider: true,
      inlayHintProvider: true,
      renameProvider: { prepareProvider: true },
      codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
      completionProvider: { triggerCharacters: [',', ';', '|', '+', '>', '!', '&', '[', ':', ' '] },
    },
  }
}

/** A question that fails is answered with an error, by the library. */
function answerQuestions(
  connection: Connection,
  documents: TextDocuments<TextDocument>,
  { workspace, log }: { readonly workspace: Workspace; readonly log: string | undefined },
): void {
  const uriOf = (file: string) => workspace.uriOf(resolve(file))
  const ask = (uri: string, position?: Position) => questionAbout(workspace, documents.get(uri), position)
  connection.onCompletion(async ({ textDocument, position }) => {
    const question = await ask(textDocument.uri, position)
    return question ? [...completionsAt(question)] : []
  })
  connection.onHover(async ({ textDocument, position }) => {
    const question = await ask(textDocument.uri, position)
    return question && hoverAt(question, log)
  })
  connection.onDefinition(async ({ textDocument, position }) => {
    const question = await ask(textDocument.uri, position)
    return question ? [...definitionsOf(question, uriOf)] : []
  })
  connection.onCodeAction(({ textDocument, context }) => {
    const document = documents.get(textDocument.uri)
    return document ? [...fixesFor(document, context.diagnostics)] : []
  })
  connection.onPrepareRename(async ({ textDocument, position }) => {
    const question = await ask(textDocument.uri, position)
    return question && renamedAt(question)
  })
  connection.onRenameRequest(async ({ textDocument, position, newName }) => {
    const question = await ask(textDocument.uri, position)
    return question && renameAt(question, newName, uriOf)
  })
  connection.languages.inlayHint.on(async ({ textDocument, range }, token) => {
    const question = await ask(textDocument.uri)
    const before = question && (await textsBefore(question.project))
    return question ? meaningsIn(question, { range, before, isCancelled: () => token.isCancellationRequested }) : []
  })
}

/** VS Code names all of its folders, and as the root the one that the server is for. Without any, the current folder. */
function rootOf({ workspaceFolders, rootUri }: InitializeParams): string {
  const uri = rootUri ?? workspaceFolders?.[0]?.uri
  return uri && URL.parse(uri)?.protocol === 'file:' ? fileURLToPath(uri) : process.cwd()
}

function foldersIn(options: unknown): Partial<FoldersInEditor> {
  const given = Object.entries(typeof options === 'object' && options !== null ? options : {})
  const names = ['policies', 'schemas', 'matrices']
  return Object.fromEntries(given.filter(([name, value]) => names.includes(name) && typeof value === 'string'))
}

function watchFiles(connection: Connection, { capabilities }: InitializeParams): void {
  if (!capabilities.workspace?.didChangeWatchedFiles?.dynamicRegistration) return
  const watchers = [{ globPattern: '**/*.{csv,yaml,yml,json,conf,txt}' }]
  send(connection.client.register(DidChangeWatchedFilesNotification.type, { watchers }))
}

/** An editor that has gone, or can't do it, isn't waited for. */
function send(sending: Promise<unknown>): void {
  sending.catch(() => undefined)
}
