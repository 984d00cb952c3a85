/** What the Dockerfile lays out, laid out in a folder: no Docker engine is needed, and none is tested. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect } from 'chai'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the layout of the image', () => {
  let folder: string
  let app: string
  let env: NodeJS.ProcessEnv
  let command: readonly string[]

  before(async function () {
    this.timeout(120_000)
    folder = await mkdtemp(join(tmpdir(), 'sallyport-image-'))
    app = join(folder, 'app')
    await mkdir(app)
    // npm takes the first `node` that it finds; that of a machine may be an old one.
    const path = [dirname(process.execPath), process.env.PATH].join(delimiter)
    const image = { NODE_ENV: 'production', DATA_DIR: join(folder, 'data'), PORT: '0', ADMIN_PORT: '0' }
    env = { ...process.env, ...image, PATH: path }
    execFileSync('sh', ['-c', await buildInto(join(app, 'dist'))], { cwd: ROOT, stdio: 'pipe' })
    await symlink(join(ROOT, 'node_modules'), join(app, 'node_modules'))
    const stage = (await readFile(join(ROOT, 'Dockerfile'), 'utf8')).split(/^FROM .*$/m).at(-1) ?? ''
    for (const line of stage.split('\n')) {
      const [, word, rest = ''] = /^(COPY|RUN|CMD) (.*)$/.exec(line) ?? []
      if (word === 'COPY' && !rest.startsWith('--from')) await copy(rest.split(' ').slice(0, -1))
      if (word === 'RUN' && rest.startsWith('npm ')) execFileSync('sh', ['-c', rest], { cwd: app, env, stdio: 'pipe' })
      if (word === 'CMD') command = JSON.parse(rest)
    }
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('serves by its own command, and by npm start on the volume that this one used', async () => {
    const first = await serve(command)
    expect(first).to.contain('password')
    expect(await serve(['npm', 'start']))
      .to.contain('"msg":"listening"')
      .and.not.to.contain('Demo callers')
    expect(await serve(command)).to.contain('"msg":"listening"')
  })

  it('would refuse that volume with the npm start of a checkout, which this test finds', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const said = await serve(['sh', '-c', scripts.start])
    expect(said).to.contain('start without --demo').and.not.to.contain('"msg":"listening"')
  })

  it('prints a page, whose script and style are files beside the program', () => {
    const args = ['bin/sallyport.js', 'policy', 'matrix', '--format', 'html']
    const page = execFileSync(process.execPath, args, { cwd: app, env, encoding: 'utf8', maxBuffer: 1 << 25 })
    expect(page).to.include('const data = JSON.parse(').and.to.include('color-scheme: light dark')
  })

  /** `npm run build`, but for the folder that it writes to. */
  async function buildInto(folder: string): Promise<string> {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const build = scripts.build
      .replace('tsc -p tsconfig.build.json', `npx tsc -p tsconfig.build.json --outDir '${folder}'`)
      .replaceAll(' dist/', ` ${folder}/`)
    return `${build} && cp -R dist/compiled ${folder}/`
  }

  async function copy(names: readonly string[]): Promise<void> {
    for (const name of names) await cp(join(ROOT, name), join(app, name), { recursive: true })
  }

  /** What it prints until it listens or ends; then it is stopped. */
  async function serve([program = '', ...args]: readonly string[]): Promise<string> {
    const child = spawn(program, args, { cwd: app, env, detached: true })
    const ended = once(child, 'close')
    let said = ''
    const listening = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text: Buffer) => {
          said += text
          // What is printed for people comes right after the line of the log.
          if (said.includes('"msg":"listening"')) setTimeout(resolve, 1000)
        })
      }
    })
    await Promise.race([listening, ended])
    // npm starts a shell, which starts the server: all of the group are stopped.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
    return said
  }
}).timeout(120_000)
