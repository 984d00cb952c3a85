/** Starts `sallyport lsp` for each folder that has one, and stops it. What the server knows, the server does. */
const { window, workspace } = require('vscode')
const { LanguageClient, TransportKind } = require('vscode-languageclient/node')
const { findProgram } = require('./find-program.cjs')

const FILES = '**/*.{csv,yaml,yml,json,txt,conf}'

/** @type {Map<string, LanguageClient>} */
const clients = new Map()

/** @param {import('vscode').ExtensionContext} context */
async function activate(context) {
  context.subscriptions.push(
    workspace.onDidChangeWorkspaceFolders(async ({ added, removed }) => {
      await Promise.all(removed.map((folder) => stop(folder.uri.toString())))
      await Promise.all(added.map(start))
    }),
  )
  await Promise.all((workspace.workspaceFolders ?? []).map(start))
}

async function deactivate() {
  await Promise.all([...clients.keys()].map(stop))
}

/** @param {import('vscode').WorkspaceFolder} folder */
async function start(folder) {
  const settings = workspace.getConfiguration('sallyport', folder.uri)
  const program = settings.get('program') || findProgram(folder.uri.fsPath)
  if (!program) {
    window.showWarningMessage(
      `Sallyport is not installed in ${folder.name}: run npm install, or set sallyport.program.`,
    )
    return
  }
  const [policies, schemas, matrices] = ['policies', 'schemas', 'matrices'].map((name) => settings.get(name))
  const cwd = folder.uri.fsPath
  const client = new LanguageClient(
    'sallyport',
    'Sallyport',
    {
      command: settings.get('node') || 'node',
      args: [program, 'lsp', '--stdio'],
      options: { cwd },
      transport: TransportKind.stdio,
    },
    {
      workspaceFolder: folder,
      documentSelector: [{ scheme: 'file', pattern: `${cwd.replaceAll('\\', '/')}/${FILES}` }],
      initializationOptions: { policies, schemas, matrices },
    },
  )
  clients.set(folder.uri.toString(), client)
  await client.start()
}

/** @param {string} folder */
async function stop(folder) {
  const client = clients.get(folder)
  clients.delete(folder)
  await client?.stop()
}

module.exports = { activate, deactivate }
