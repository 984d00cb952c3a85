/** The package works alone: in an empty folder, from its tarball, without a network, on both kinds of Node. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { blocksOf, missingFrom } from '../documented.ts'
import { INSTALL_MS, program } from '../programs.ts'
import { type Installed, installPackage } from './installed.ts'
import { ranIn } from './projects.ts'

const NODES: Readonly<Record<string, string>> = {
  24: join(import.meta.dirname, '../../node_modules/node24/bin/node'),
  26: process.execPath,
}

describe('the package', () => {
  let installed: Installed
  const servers: ChildProcess[] = []

  before(async () => {
    program('curl')
    installed = await installPackage()
  }).timeout(INSTALL_MS)
  after(async () => {
    for (const one of servers) one.kill('SIGKILL')
    await installed.remove()
  })

  it('has no scripts, no sources and no tests, and is smaller than 1.5 MB', async () => {
    const folder = join(installed.app, 'node_modules/sallyport')
    const own = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    expect(own).to.not.have.any.keys('scripts', 'devDependencies', 'workspaces', 'private')
    const names = await readdir(folder, { recursive: true })
    expect(names.filter((name) => /(?<!\.d)\.ts$|\.test\.|\.map$/.test(name))).to.deep.equal([])
    expect(names).to.include.members(['dist/main.js', 'bin/sallyport.js', 'docs/README.md', 'LICENSE', 'README.md'])
    expect((await stat(installed.tarball)).size).to.be.below(1_500_000)
  })

  for (const [version, node] of Object.entries(NODES)) {
    it(`serves the demo in an empty folder, on Node ${version}`, async () => {
      expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).to.include(`v${version}.`)
      const folder = join(installed.app, `on-${version}`)
      await mkdir(folder)
      const env = { ...installed.env, PATH: [dirname(node), installed.env.PATH].join(delimiter) }
      const { url, said, stop } = await serve(folder, env)
      expect(said()).to.include('npx sallyport eject')
      const [, curl = ''] = /^(curl .*)$/m.exec(said()) ?? []
      const { stdout } = await ranIn(folder, env, ['sh', '-c', curl])
      expect(stdout, curl).to.include('Shopping list')
      expect((await fetch(`${url}/users`)).status).to.equal(401)
      await stop()
      expect((await ranIn(folder, env, ['npx', 'sallyport', 'eject'])).code).to.equal(0)
      const again = await serve(folder, env)
      expect(again.said()).to.not.include('eject')
      await again.stop()
    }).timeout(60_000)
  }

  it('refuses to serve an empty folder without --demo, and says what to do', async () => {
    const { code, stderr } = await ranIn(installed.app, installed.env, ['npx', 'sallyport', 'serve'])
    expect(code).to.equal(2)
    expect(stderr).to.include('sallyport init')
  }).timeout(30_000)

  it('makes projects whose editors find the JSON Schemas in it', async () => {
    const made = await ranIn(installed.app, installed.env, ['npx', 'sallyport', 'init', 'api', '--yes', '--demo'])
    expect(made.code, made.stderr).to.equal(0)
    const folder = join(installed.app, 'api')
    const settings = JSON.parse(await readFile(join(folder, '.vscode/settings.json'), 'utf8'))
    const named = Object.keys(settings['yaml.schemas'])
    expect(named).to.have.length.at.least(8)
    for (const name of ['policies/roles.yaml', 'policies/limits.yaml', 'test/matrix/meanings.yaml']) {
      const text = await readFile(join(folder, name), 'utf8')
      named.push(join(dirname(name), /\$schema=(\S+)/.exec(text)?.[1] ?? 'nothing'))
    }
    const found = named.filter((name) =>
      existsSync(join(installed.app, 'node_modules', name.split('node_modules/')[1] ?? '-')),
    )
    expect(found).to.deep.equal(named)
  }).timeout(60_000)

  it('follows docs/new-project.md, whose output is what the commands print', async () => {
    const env = { ...installed.env, HOME: installed.folder }
    const page = blocksOf(await readFile(join(import.meta.dirname, '../../docs/new-project.md'), 'utf8'))
    expect(page.length).to.be.at.least(5)
    let folder = installed.app
    for (const { commands, output } of page) {
      let printed = ''
      for (const command of commands) {
        const { code, stdout, stderr } = await ranIn(folder, env, ['bash', '-c', command])
        expect(code, `${command}\n${stderr}`).to.equal(0)
        printed += stdout
        if (command.startsWith('cd ')) folder = join(folder, command.slice(3))
      }
      expect(missingFrom(printed, output), printed).to.deep.equal([])
    }
    expect(missingFrom('', ['what nobody printed'])).to.have.length(1)
  }).timeout(120_000)

  it('explains a wrong cell with a command that works there', async () => {
    const env = { ...installed.env, npm_lifecycle_event: 'test' }
    const asked = async (...args: readonly string[]) => ranIn(installed.app, env, ['npx', 'sallyport', ...args])
    await asked('init', 'why', '--yes')
    const run = (command: string) => ranIn(join(installed.app, 'why'), env, ['bash', '-c', command])
    await run("sed -i '/^# end of policy/i p, member, users, list, any, *, allow' policies/policy.csv")
    const { stdout } = await run('npx sallyport matrix test')
    const [, command = 'false'] = /why: (npx sallyport policy explain .*)$/m.exec(stdout) ?? []
    expect((await run(command)).stdout, stdout).to.include('ALLOW')
  }).timeout(60_000)

  it('is what npm create runs', async () => {
    const create = join(installed.app, 'node_modules/create-sallyport')
    await cp(join(import.meta.dirname, '../../packages/create-sallyport'), create, { recursive: true })
    const own = JSON.parse(await readFile(join(create, 'package.json'), 'utf8'))
    const { version } = JSON.parse(await readFile(join(installed.app, 'node_modules/sallyport/package.json'), 'utf8'))
    expect(own.dependencies).to.deep.equal({ sallyport: version })
    const program = [process.execPath, join(create, own.bin['create-sallyport'])]
    const made = await ranIn(installed.app, installed.env, [...program, 'created', '--yes'])
    expect(made.code, made.stderr).to.equal(0)
    expect(existsSync(join(installed.app, 'created/policies/policy.csv'))).to.equal(true)
    expect((await ranIn(installed.app, installed.env, [...program, 'created', '--yes'])).code).to.equal(2)
  }).timeout(60_000)

  async function serve(folder: string, env: NodeJS.ProcessEnv) {
    const listening = { ...env, PORT: '0', ADMIN_PORT: '0' }
    const bin = join(installed.app, 'node_modules/.bin/sallyport')
    const server = spawn(bin, ['serve', '--demo'], { cwd: folder, env: listening })
    servers.push(server)
    let text = ''
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (chunk) => {
        text += chunk
      })
    }
    // npm's own warnings may come before and after; what is printed for people is written at once.
    while (!text.includes('with the password') && server.exitCode === null) await sleep(50)
    await sleep(100)
    const url = /Sallyport listens on (\S+)/.exec(text)?.[1] ?? ''
    const stop = async () => {
      const ended = once(server, 'close')
      server.kill('SIGTERM')
      await ended
    }
    return { url, said: () => text, stop }
  }
})
