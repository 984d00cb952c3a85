/** The extension for VS Code starts the program of a folder, for this folder, and nothing where there is none. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { createRequire, registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'

const EXTENSION = join(ROOT, 'packages/vscode')

interface Started {
  readonly server: { readonly command: string; readonly args: readonly string[]; readonly options: { cwd: string } }
  readonly client: { readonly initializationOptions: object; readonly documentSelector: readonly { pattern: string }[] }
}

/** What stands in for the two modules that only VS Code has. */
const seen = { started: [] as Started[], stopped: 0, warnings: [] as string[] }
const SETTINGS: Readonly<Record<string, string>> = { program: '', node: 'node', policies: 'rules', schemas: 'schemas' }
const stubs = {
  vscode: {
    window: { showWarningMessage: (text: string) => seen.warnings.push(text) },
    workspace: {
      workspaceFolders: [] as unknown[],
      onDidChangeWorkspaceFolders: () => ({}),
      getConfiguration: () => ({ get: (name: string) => SETTINGS[name] }),
    },
  },
  'vscode-languageclient/node': {
    TransportKind: { stdio: 0 },
    LanguageClient: class {
      constructor(_id: string, _name: string, server: Started['server'], client: Started['client']) {
        seen.started.push({ server, client })
      }
      async start() {}
      async stop() {
        seen.stopped++
      }
    },
  },
}

describe('the extension for VS Code', () => {
  let folder: string
  let hooks: ReturnType<typeof registerHooks>
  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'sallyport-vscode-')))
    Object.assign(globalThis, { vscodeStubs: stubs })
    hooks = registerHooks({
      resolve: (specifier, context, next) =>
        specifier in stubs ? { url: `stub:${specifier}`, shortCircuit: true } : next(specifier, context),
      load: (url, context, next) =>
        url.startsWith('stub:')
          ? { format: 'commonjs', shortCircuit: true, source: `module.exports = vscodeStubs['${url.slice(5)}']` }
          : next(url, context),
    })
  })
  after(async () => {
    hooks.deregister()
    await removeFolder(folder)
  })

  it('starts the installed program, with the folders of the settings', async () => {
    const program = join(folder, 'node_modules/sallyport/bin/sallyport.js')
    await mkdir(join(folder, 'node_modules/sallyport/bin'), { recursive: true })
    await writeFile(program, '')
    await mkdir(join(folder, 'api'))
    await openIn(join(folder, 'api'))
    const [{ server, client } = { server: undefined, client: undefined }] = seen.started
    expect(server).to.deep.include({ command: 'node', args: [program, 'lsp', '--stdio'] })
    expect(server?.options.cwd).to.equal(join(folder, 'api'))
    expect(client?.initializationOptions).to.include({ policies: 'rules', schemas: 'schemas' })
    expect(client?.documentSelector[0]?.pattern.startsWith(`${join(folder, 'api')}/**/*.{csv,yaml`)).to.equal(true)
  })

  it('starts that of a checkout, and stops what it started', async () => {
    await openIn(join(ROOT, 'policies'))
    expect(seen.started.at(-1)?.server.args[0]).to.equal(join(ROOT, 'bin/sallyport.js'))
    expect(seen.stopped).to.equal(2)
  })

  it('starts nothing where nothing is installed, and says so', async () => {
    const before = seen.started.length
    const bare = await mkdtemp(join(tmpdir(), 'sallyport-bare-'))
    await openIn(bare)
    expect(seen.started.length).to.equal(before)
    expect(seen.warnings.at(-1)).to.include('npm install')
    await removeFolder(bare)
  })

  it('has what a package of an extension needs, in the version of the program', async () => {
    const manifest = JSON.parse(readFileSync(join(EXTENSION, 'package.json'), 'utf8'))
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(manifest).to.include({ version, publisher: 'sallyport' }).and.to.include.keys('engines', 'repository')
    expect(manifest.capabilities.untrustedWorkspaces.supported).to.equal(false)
    const files = [manifest.main, manifest.contributes.languages[0].configuration, 'README.md', 'LICENSE']
    for (const file of files) expect(existsSync(join(EXTENSION, file)), file).to.equal(true)
    const settings = Object.keys(manifest.contributes.configuration.properties)
    expect(settings).to.have.members(
      ['program', 'node', 'policies', 'schemas', 'matrices'].map((one) => `sallyport.${one}`),
    )
  })

  /** Activates the extension with this folder open, and deactivates it. */
  async function openIn(path: string): Promise<void> {
    stubs.vscode.workspace.workspaceFolders = [{ name: 'it', uri: { fsPath: path, toString: () => `file://${path}` } }]
    const extension = createRequire(import.meta.url)(join(EXTENSION, 'extension.cjs'))
    await extension.activate({ subscriptions: [] })
    await extension.deactivate()
  }
})
