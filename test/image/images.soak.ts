/** The images of this repository and of a project: built, run and stopped by an engine, as their compose files say. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Block, blocksOf, missingFrom, sectionOf } from '../documented.ts'
import { INSTALL_MS, program } from '../programs.ts'
import { ranIn } from '../project/projects.ts'
import { freePort } from '../redis.ts'
import {
  exitCode,
  filesOf,
  isHealthy,
  POWERLESS,
  powers,
  processes,
  strayFiles,
  untilHealthy,
  untilListening,
  writableFolders,
} from './checks.ts'
import { flagsOf, SETTINGS } from './compose.ts'
import { type Engine, openEngine } from './engine.ts'
import { makeProject } from './project.ts'

const ROOT = new URL('../..', import.meta.url).pathname

const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
}

interface Image {
  readonly name: string
  /** The program of the image. */
  readonly bin: string
  /** What is in /app. */
  readonly app: readonly string[]
  readonly mostBytes: number
}

const OURS: Image = {
  name: 'sallyport',
  bin: 'bin/sallyport.js',
  app: ['LICENSE', 'bin', 'dist', 'docs', 'node_modules', 'package.json', 'policies', 'schemas', 'src'],
  mostBytes: 50_000_000,
}
const PROJECT: Image = {
  name: 'my-api',
  bin: 'node_modules/sallyport/bin/sallyport.js',
  app: ['node_modules', 'package-lock.json', 'package.json', 'policies', 'schemas', `sallyport-${VERSION}.tgz`],
  mostBytes: 55_000_000,
}

/** Without a network but that of the container, which starts faster. */
const ALONE = ['--network', 'none']

describe('the images', () => {
  let engine: Engine
  let dev: ReadonlySet<string>
  let project: string
  let page: readonly Block[]
  const flags = new Map<string, readonly string[]>()

  before(async () => {
    engine = await openEngine()
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
    const packages = Object.entries<{ dev?: boolean }>(lock.packages)
    const named = (isDev: boolean) =>
      packages.filter(([, one]) => Boolean(one.dev) === isDev).map(([path]) => path.split('node_modules/').at(-1) ?? '')
    dev = new Set(named(true)).difference(new Set(named(false)))
    page = blocksOf(sectionOf(await readFile(join(ROOT, 'docs/operating.md'), 'utf8'), 'Containers'))
    project = await makeProject(engine.folder, PROJECT.name)
    await writeFile(join(project, '.env'), await readFile(join(project, '.env.example')))
    await writeFile(join(project, 'signing.pem'), 'a secret')
    const built = await Promise.all([engine.docker('build', '-t', OURS.name, ROOT), shell(page[0]?.commands ?? [])])
    expect(built).to.have.length(2)
    flags.set(OURS.name, await flagsOf(join(ROOT, 'docker-compose.yml'), 'api-1', ['environment']))
    flags.set(PROJECT.name, await flagsOf(join(project, 'compose.yml'), 'api', []))
  }).timeout(INSTALL_MS * 2)
  after(() => engine.close())

  for (const image of [OURS, PROJECT]) {
    describe(image.name, () => {
      it('says by a number that it is not root, and which signal ends it', async () => {
        const [{ Config }] = JSON.parse(await engine.docker('image', 'inspect', image.name))
        expect(Config).to.deep.include({ User: '1000:1000', StopSignal: 'SIGTERM', Volumes: { '/data': {} } })
        expect(Config.ExposedPorts).to.have.all.keys('3000/tcp')
      })

      it('has neither secrets nor tests nor packages of development, and is small', async () => {
        const files = await filesOf(engine, image.name)
        expect(strayFiles(files, { allowed: new Set(image.app), dev })).to.deep.equal([])
        const bytes = files.reduce((sum, one) => sum + one.bytes, 0)
        expect(bytes).to.be.within(image.mostBytes / 2, image.mostBytes)
      })

      it('serves without powers on a read-only file system, is healthy, and drains when told to end', async () => {
        const id = await run(image, ['--publish', '127.0.0.1::3000'])
        await untilListening(engine, id)
        const url = `http://${await engine.docker('port', id, '3000')}`
        expect((await fetch(`${url}/livez`)).status).to.equal(200)
        expect(await powers(engine, id)).to.deep.equal(POWERLESS)
        expect(await writableFolders(engine, id)).to.have.members(['/data', '/tmp'])
        await untilHealthy(engine, id)
        // Its script and style are files beside the program.
        const page = await engine.docker('exec', id, 'node', image.bin, 'policy', 'matrix', '--format', 'html')
        expect(page).to.include('const data = JSON.parse(').and.to.include('color-scheme: light dark')
        await engine.docker('kill', '--signal', 'TERM', id)
        // Further signals change nothing. The server may have ended already.
        for (const signal of ['TERM', 'INT']) await engine.tried('kill', '--signal', signal, id)
        expect(await exitCode(engine, id)).to.equal(0)
        expect((await engine.tried('logs', id)).stderr).to.include('"msg":"draining"')
      })

      it('is not healthy where nothing listens', async () => {
        const id = await run(image, ALONE, ['node', '-e', 'setInterval(() => {}, 1000)'])
        expect(await isHealthy(engine, id)).to.equal(false)
      })

      it('ends when it is told to while it starts, though process 1 has no default signals', async () => {
        const silent = createServer().listen(0, '127.0.0.1')
        await once(silent, 'listening')
        const { port } = silent.address() as AddressInfo
        const connected = once(silent, 'connection')
        const database = `DATABASE_URL=postgres://user:word@127.0.0.1:${port}/none?sslmode=disable`
        const secret = `KEYS_SECRET=${randomBytes(32).toString('base64')}`
        const id = await run(image, ['--network', 'host', '--env', database, '--env', secret])
        const endedBefore = exitCode(engine, id).then(async (code) => {
          throw new Error(`ended with ${code}: ${(await engine.tried('logs', id)).stderr}`)
        })
        const [socket] = await Promise.race([connected, endedBefore])
        await engine.docker('stop', '--time', '60', id)
        expect(await exitCode(engine, id)).to.equal(0)
        socket.destroy()
        silent.close()
      })

      it('starts workers again without leaving zombies, and listens and writes where its settings say', async () => {
        const settings = { WORKERS: '2', PORT: '3999', ADMIN_PORT: '9999', DATA_DIR: '/data/inner' }
        const id = await run(
          image,
          Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
        )
        expect(await untilListening(engine, id))
          .to.include('"url":"http://0.0.0.0:3999"')
          .and.to.include('"workers":2')
        await untilHealthy(engine, id)
        await engine.docker('exec', id, 'node', '-e', "fs.accessSync('/data/inner/sallyport.db')")
        const [worker] = (await processes(engine, id)).filter(({ parent }) => parent === 1)
        await engine.docker('exec', id, 'node', '-e', `process.kill(${worker?.pid}, 'SIGKILL')`)
        let left = await processes(engine, id)
        while (left.length < 3 || left.some(({ pid }) => pid === worker?.pid)) {
          await sleep(50)
          left = await processes(engine, id)
        }
        expect(left.filter(({ isZombie }) => isZombie)).to.deep.equal([])
        await engine.docker('stop', '--time', '60', id)
        expect(await exitCode(engine, id)).to.equal(0)
      })

      it('says in one sentence that it can not write its data', async () => {
        const folder = join(engine.folder, `of-root-${image.name}`)
        await mkdir(folder, { mode: 0o755 })
        const id = await run(image, [...ALONE, '--volume', `${folder}:/data`])
        expect(await exitCode(engine, id)).to.equal(2)
        const { stdout, stderr } = await engine.tried('logs', id)
        expect(stdout).to.equal('')
        expect(stderr).to.match(/^sallyport: [^\n]*\/data[^\n]*user 1000[^\n]*chown -R 1000:1000 \/data[^\n]*\n$/)
      })
    })
  }

  it('does what docs/operating.md says of containers, with the settings of compose', async () => {
    program('curl')
    const port = await freePort()
    expect(page.length).to.equal(4)
    expect(page[1]?.commands[0]).to.include(
      ` ${(await flagsOf(join(project, 'compose.yml'), 'api', SETTINGS)).join(' ')} `,
    )
    for (const { commands, output } of page.slice(1)) {
      const printed = await shell(commands.map((line) => line.replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)))
      expect(missingFrom(printed, output), printed).to.deep.equal([])
    }
  })

  it('runs the same by npm start, which is the demo in a checkout', async () => {
    const [{ Config }] = JSON.parse(await engine.docker('image', 'inspect', OURS.name))
    const start = await engine.docker('run', '--rm', ...ALONE, OURS.name, 'npm', 'pkg', 'get', 'scripts.start')
    expect(JSON.parse(start)).to.equal(Config.Cmd.join(' '))
  })

  it('would notice an image that is careless', async () => {
    const build = join(engine.folder, 'Careless')
    const lines = [
      `FROM localhost/${PROJECT.name}`,
      'USER 0',
      'HEALTHCHECK CMD ["env"]',
      `CMD ["sh", "-c", "node ${PROJECT.bin} serve; exit 0"]`,
    ]
    await writeFile(build, lines.join('\n'))
    await engine.docker('build', '--tag', 'careless', '--file', build, project)
    const id = await run({ name: 'careless' }, ALONE)
    await untilListening(engine, id)
    expect(await powers(engine, id))
      .to.not.include({ Uid: '1000' })
      .and.to.not.include({ CapEff: POWERLESS.CapEff })
    expect(await writableFolders(engine, id)).to.deep.equal(['/'])
    await engine.docker('stop', '--time', '1', id)
    expect(await exitCode(engine, id)).to.equal(undefined)
    const idle = await run({ name: 'careless' }, ALONE, ['sh', '-c', '(sleep 1 &); exec sleep 100'])
    expect(await isHealthy(engine, idle)).to.equal(true)
    while (!(await processes(engine, idle)).some(({ isZombie }) => isZombie)) await sleep(50)
  })

  it('is not made of a policy with mistakes', async () => {
    const [check = ''] = /^RUN .* policy check$/m.exec(await readFile(join(project, 'Dockerfile'), 'utf8')) ?? []
    const spoil = "RUN echo 'p, nobody, users, list, any, *, allow' > policies/policy.csv"
    const build = join(engine.folder, 'Faulty')
    await writeFile(build, [`FROM localhost/${PROJECT.name}`, 'USER 0', spoil, 'USER 1000', check].join('\n'))
    const { code, stdout, stderr } = await engine.tried('build', '--file', build, project)
    expect(code, stdout).to.not.equal(0)
    expect(stdout + stderr).to.include('policies/policy.csv:1:')
  })

  it('would notice a file that has no place in an image', () => {
    const paths = ['/app/.env', '/app/policies/a.pem', '/app/test/a.ts', '/app/node_modules/mocha/a.js', '/root/.npmrc']
    const files = paths.map((path) => ({ path, bytes: 0 }))
    expect(strayFiles(files, { allowed: new Set([...OURS.app, '.env']), dev })).to.deep.equal(paths)
  })

  async function shell(commands: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await ranIn(project, engine.env, ['bash', '-ec', commands.join('\n')])
    expect(code, stderr).to.equal(0)
    return stdout
  }

  /** As its compose file runs it, with more flags of `docker run`. */
  function run(
    { name }: Pick<Image, 'name'>,
    more: readonly string[],
    command: readonly string[] = [],
  ): Promise<string> {
    return engine.docker('run', '--detach', ...(flags.get(name) ?? []), ...more, name, ...command)
  }
})
