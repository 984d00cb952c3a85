/** The package works alone: in an empty folder, from its tarball, without a network, on both kinds of Node. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { blocksOf, missingFrom } from '../documented.ts'
import { type Place, playPage } from '../page.ts'
import { program } from '../programs.ts'
import { freePort } from '../redis.ts'
import { inTurn } from '../runs.ts'
import { type Installed, installPackages } from './installed.ts'
import { packNextVersion } from './next-version.ts'
import { ranIn, sumOf } from './projects.ts'
import { bytesOf, MOST_PACKED, MOST_UNPACKED, objections, strayNames, withInstallScripts } from './tarballs.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** OpenTelemetry is 14 MB of it (decision 0126). */
const MOST_INSTALLED = 55_000_000

const NODES: Readonly<Record<string, string>> = {
  24: join(ROOT, 'node_modules/node24/bin/node'),
  26: process.execPath,
}

describe('the package', () => {
  let installed: Installed
  const servers: ChildProcess[] = []

  before(async () => {
    program('curl')
    installed = await installPackages()
  })
  after(async () => {
    // With the programs that npm started.
    for (const { pid } of servers) if (pid !== undefined) endGroup(pid)
    await installed.remove()
  })

  it('has no scripts, no sources and no tests', async () => {
    const names = await readdir(join(installed.folder, 'package'), { recursive: true })
    expect(strayNames(names)).to.deep.equal([])
    expect(names).to.include.members(['dist/main.js', 'bin/sallyport.js', 'docs/README.md', 'LICENSE', 'README.md'])
    expect(await withInstallScripts(join(installed.app, 'node_modules'))).to.deep.equal([])
    expect(await withInstallScripts(join(ROOT, 'node_modules/node'))).to.include('package.json')
  })

  it(`is smaller than ${MOST_PACKED} bytes, ${MOST_UNPACKED} unpacked and ${MOST_INSTALLED} with what it needs`, async () => {
    expect((await stat(installed.tarballs[0] ?? '')).size).to.be.below(MOST_PACKED)
    expect(await bytesOf(join(installed.folder, 'package'))).to.be.below(MOST_UNPACKED)
    expect(await bytesOf(join(installed.app, 'node_modules'))).to.be.below(MOST_INSTALLED)
  })

  it('passes publint and attw, as the packages beside it do, which find a wrong export', async () => {
    expect(await Promise.all(installed.tarballs.map(objections))).to.deep.equal([[], [], []])
    const broken = join(installed.folder, 'broken')
    await cp(join(installed.folder, 'client'), broken, { recursive: true })
    await rm(join(broken, 'dist/middleware/koa.d.ts'))
    await rm(join(broken, 'dist/middleware/express.js'))
    const { stdout } = await ranIn(broken, installed.env, ['npm', 'pack', '--json'])
    const found = await objections(join(broken, JSON.parse(stdout)[0].filename))
    expect(found).to.have.length(2)
    expect(found[0]).to.include('middleware/express.js')
    expect(found[1]).to.include('@sallyport/client/koa')
  })

  for (const [version, node] of Object.entries(NODES)) {
    it(`serves the demo in an empty folder, on Node ${version}`, async () => {
      expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).to.include(`v${version}.`)
      const folder = join(installed.app, `on-${version}`)
      await mkdir(folder)
      const env = installed.envWith(node)
      const { url, said, stop } = await serve(folder, env)
      expect(said()).to.include('npx sallyport eject')
      const [, curl = ''] = /^(curl .*)$/m.exec(said()) ?? []
      const { stdout } = await ranIn(folder, env, ['sh', '-c', curl])
      expect(stdout, curl).to.include('Shopping list')
      expect((await fetch(`${url}/users`)).status).to.equal(401)
      await stop()
      expect((await ranIn(folder, env, ['npx', 'sallyport', 'eject'])).code).to.equal(0)
      const add = ['key', 'add', '--subject', 'robot', '--role', 'auditor', '--expires', '1h']
      const { stderr } = await ranIn(folder, env, ['npx', 'sallyport', ...add])
      expect(stderr).to.match(/^Revoke it with: npx sallyport key revoke /m)
      const again = await serve(folder, env)
      expect(again.said()).to.not.include('eject')
      await again.stop()
    })
  }

  it('refuses to serve an empty folder without --demo, and says what to do', async () => {
    const { code, stderr } = await ranIn(installed.app, installed.env, ['npx', 'sallyport', 'serve'])
    expect(code).to.equal(2)
    expect(stderr).to.include('npx sallyport init')
  })

  it('names commands in reports and help as they can be typed here, and in JSON as they are', async () => {
    for (const [name, format] of [
      ['before', 'ipv4'],
      ['after', 'hostname'],
    ] as const) {
      const schema = { 'x-resource': { routes: [{ path: '/things', methods: ['GET'] }] } }
      const written = { type: 'string', readOnly: true }
      const own = { id: written, createdAt: written, updatedAt: written }
      const properties = { ...own, host: { type: 'string', format } }
      const text = JSON.stringify({ ...schema, type: 'object', additionalProperties: false, properties })
      await mkdir(join(installed.app, name))
      await writeFile(join(installed.app, name, 'things.json'), text)
    }
    const policies = join(ROOT, 'policies')
    const diff = ['npx', 'sallyport', 'schema', 'diff', 'before', 'after', '--policies', policies]
    const { stdout, stderr } = await ranIn(installed.app, installed.env, diff)
    expect(stdout, stderr).to.include('unknown, run npx sallyport data check: things')
    expect((await ranIn(installed.app, installed.env, [...diff, '--format', 'json'])).stdout).to.not.include('npx')
    const help = (await ranIn(installed.app, installed.env, ['npx', 'sallyport', 'doctor', '--help'])).stdout
    expect(help).to.include('\n  npx sallyport doctor --demo\n').and.to.include('flags of `npx sallyport serve`')
  })

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
    // An editor without a network finds all that they refer to in the same file.
    for (const name of found) {
      const text = await readFile(join(installed.app, 'node_modules', name.split('node_modules/')[1] ?? '-'), 'utf8')
      expect([...text.matchAll(/"\$ref": *"([^"]*)"/g)].filter(([, to = '']) => !to.startsWith('#'))).to.deep.equal([])
    }
  })

  // They start some hundred programs: each commit has its turn of them.
  const pages = { 'new project': followsNewProject, 'first steps': followsFirstSteps }
  for (const [page, follows] of inTurn(Object.entries(pages), 2)) describe(`in the ${page}`, follows)

  it('explains a wrong cell with a command that works there', async () => {
    const env = { ...installed.env, npm_lifecycle_event: 'test' }
    const asked = async (...args: readonly string[]) => ranIn(installed.app, env, ['npx', 'sallyport', ...args])
    await asked('init', 'why', '--yes')
    const run = (command: string) => ranIn(join(installed.app, 'why'), env, ['bash', '-c', command])
    await run("sed -i '/^# end of policy/i p, member, users, list, any, *, allow' policies/policy.csv")
    const { stdout } = await run('npx sallyport matrix test')
    const [, command = 'false'] = /why: (npx sallyport policy explain .*)$/m.exec(stdout) ?? []
    expect((await run(command)).stdout, stdout).to.include('ALLOW')
  })

  for (const [version, node] of Object.entries(NODES)) {
    it(`is what npm create runs, on Node ${version}`, async () => {
      const env = installed.envWith(node)
      const create = ['npm', 'create', '--yes', 'sallyport', `created-${version}`, '--', '--yes']
      const made = await ranIn(installed.folder, env, create)
      expect(made.code, made.stderr).to.equal(0)
      expect(existsSync(join(installed.folder, `created-${version}`, 'policies/policy.csv'))).to.equal(true)
      expect((await ranIn(installed.folder, env, create)).code).to.equal(2)
    })
  }

  function followsNewProject(): void {
    it('follows docs/new-project.md, whose output is what the commands print', async () => {
      const ports = { PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) }
      const env = { ...installed.env, HOME: installed.folder }
      const page = blocksOf(await readFile(join(import.meta.dirname, '../../docs/new-project.md'), 'utf8'))
      expect(page.length).to.be.at.least(5)
      let [folder, served] = [installed.app, '']
      for (const { commands, output } of page) {
        const text = commands.join('\n').replaceAll('127.0.0.1:3000', `127.0.0.1:${ports.PORT}`)
        let printed = ''
        if (text === 'npm start') {
          await writeFile(join(folder, '.env'), `PORT=${ports.PORT}\nADMIN_PORT=${ports.ADMIN_PORT}\n`)
          printed = served = await startProject(folder, env)
        } else {
          const [, password = ''] = /^ {2}password {2}(\S+)$/m.exec(served) ?? []
          const script = `${text.replace('ONE-TIME PASSWORD', password)}\npwd > "$HOME/.at"`
          const { code, stdout, stderr } = await ranIn(folder, env, ['bash', '-exc', script])
          expect(code, stderr).to.equal(0)
          // Without the commands themselves.
          printed = `${stdout}${stderr.replaceAll(/^\+.*$/gm, '')}`
          folder = (await readFile(join(installed.folder, '.at'), 'utf8')).trim()
        }
        expect(missingFrom(printed, output), printed).to.deep.equal([])
      }
      expect(missingFrom('', ['what nobody printed'])).to.have.length(1)
    })
  }

  function followsFirstSteps(): void {
    it('follows the tours of README.md in a project of the demo, on Node 26', async () => {
      const place = demoProject(process.execPath)
      const page = await playPage('README.md', [], { place, before: 'npm start' })
      const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
      // The tour for testers states something wrong.
      expect(failed).to.deep.equal(['failed 1: npm run -s sallyport -- matrix test test/matrix/notes.csv'])
      await page.stop()
    })

    it('follows docs/first-steps.md in a project of the demo, on Node 24', async () => {
      const place = demoProject(NODES[24] ?? '')
      const page = await playPage('docs/first-steps.md', ['npm start'], { place })
      for (const { output, printed } of page.blocks) {
        expect(missingFrom(printed, output), printed).to.deep.equal([])
        expect(printed).to.not.match(/^failed /m)
      }
      await page.stop()
    })
  }

  /** A project that the package made, and that uses it. */
  function demoProject(node: string): Place {
    const env = installed.envWith(node)
    return {
      env,
      fill: async (folder) => {
        const name = `demo-for-${basename(folder).toLowerCase()}`
        const made = await ranIn(installed.app, env, ['npx', 'sallyport', 'init', name, '--yes', '--demo'])
        expect(made.code, made.stderr).to.equal(0)
        await cp(join(installed.app, name), folder, { recursive: true })
      },
      link: (folder) => symlink(join(installed.app, 'node_modules'), join(folder, 'node_modules')),
    }
  }

  it('tells a project what the next version changes, before it is installed, and writes nothing there', async () => {
    const { app, env } = installed
    expect((await ranIn(app, env, ['npx', 'sallyport', 'init', 'upgraded', '--yes'])).code).to.equal(0)
    const { version, tarball } = await packNextVersion(installed)
    const before = await sumOf(join(app, 'upgraded'))
    const next = ['npx', '--yes', '--package', tarball, 'sallyport']
    const { code, stdout, stderr } = await ranIn(join(app, 'upgraded'), env, [...next, 'upgrade', '--check'])
    expect(code, stdout + stderr).to.equal(1)
    expect(stdout).to.match(new RegExp(`^\\S+ -> ${version} \\(major\\): `))
    expect(stdout).to.include('all files are right for the new version')
    expect(stdout).to.match(/narrows: admin POST \/users .*: allowed by \S+ -> denied\n/)
    expect(stdout).to.include(`- ${version}: One rule is not enough.`)
    expect(stdout).to.match(/there is something to do before this version is in use\n$/)
    expect(await sumOf(join(app, 'upgraded'))).to.equal(before)
  })

  async function serve(folder: string, env: NodeJS.ProcessEnv) {
    const bin = join(installed.app, 'node_modules/.bin/sallyport')
    const { server, said } = start(folder, { ...env, PORT: '0', ADMIN_PORT: '0' }, [bin, 'serve', '--demo'])
    // npm's own warnings may come before and after; what is printed for people is written at once.
    while (!said().includes('with the password') && server.exitCode === null) await sleep(50)
    await sleep(100)
    const url = /Sallyport listens on (\S+)/.exec(said())?.[1] ?? ''
    const stop = async () => {
      const ended = once(server, 'close')
      server.kill('SIGTERM')
      await ended
    }
    return { url, said, stop }
  }

  /** Gives what it printed until it listens. */
  async function startProject(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
    const { server, said } = start(folder, env, ['npm', 'start'])
    while (!/"msg":"listening"/.test(said()) || !said().includes('user password')) {
      if (server.exitCode !== null) throw new Error(said())
      await sleep(50)
    }
    return said()
  }

  function start(cwd: string, env: NodeJS.ProcessEnv, [command = '', ...args]: readonly string[]) {
    const server = spawn(command, args, { cwd, env, detached: true })
    servers.push(server)
    let text = ''
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (chunk) => {
        text += chunk
      })
    }
    return { server, said: () => text }
  }
})

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
