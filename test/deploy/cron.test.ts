/** The lines of crontab in docs/ and the review commands of a new project, run as printed, as cron runs them. */
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { LAUNCHER, ROOT, sallyport } from '../command.ts'
import { blocksOf, sectionOf } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer } from '../server.ts'

/** A minute, an hour, a day, a month and a day of the week. */
const TIMES = /^(?:(?:\*|\d+)(?:\/\d+)? ){5}/
const USER = 'sallyport'
/** Where the lines read and write; the test has its own folder of each. */
const FOLDERS = ['/etc', '/srv', '/reviews', '/backups', '/usr/local/bin']

interface CronLine {
  readonly page: string
  readonly path: string
  readonly command: string
}

async function cronLines(): Promise<readonly CronLine[]> {
  const found: CronLine[] = []
  for (const page of await readdir(join(ROOT, 'docs'))) {
    if (!page.endsWith('.md')) continue
    const text = await readFile(join(ROOT, 'docs', page), 'utf8')
    for (const [, block = ''] of text.matchAll(/```sh\n# \/etc\/cron\.d\/.*\n([^`]*)```/g)) {
      const [path = '', ...lines] = block.trim().split('\n')
      expect(path).to.match(/^PATH=/)
      for (const line of lines) {
        expect(line).to.match(TIMES)
        const [user, ...words] = line.replace(TIMES, '').split(' ')
        expect(user, line).to.equal(USER)
        // Cron takes a % that isn't escaped for the end of the line.
        expect(line).to.not.match(/(?<!\\)%/)
        found.push({ page, path: path.slice('PATH='.length), command: words.join(' ').replaceAll('\\%', '%') })
      }
    }
  }
  return found
}

describe('the lines of crontab in docs/', () => {
  let root: string
  let recipient: string

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'sallyport-cron-'))
    for (const folder of [...FOLDERS, '/srv/sallyport', '/home']) await mkdir(join(root, folder), { recursive: true })
    for (const name of ['policies', 'schemas'])
      await cp(join(ROOT, name), join(root, 'srv/sallyport', name), { recursive: true })
    const program = join(root, 'usr/local/bin/sallyport')
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`)
    await chmod(program, 0o755)
    // The database is where only the file of settings says.
    const database = `sqlite:${join(root, 'srv/elsewhere.db')}`
    await writeFile(join(root, 'etc/sallyport.env'), `DATABASE_URL=${database}\n`)
    const log = join(root, 'srv/sallyport/data/decisions.log')
    await mkdir(join(root, 'srv/sallyport/data'))
    const server = await startTestServer({ demo: true, env: { DATABASE_URL: database, DECISION_LOG_FILE: log } })
    await server.ask('GET', '/api/orders', { token: await server.token('alice', 'member') })
    await server.stop()
    recipient = (await sallyport(['backup', 'key', join(root, 'home/backup.key')])).stdout.trim()
  })
  after(() => removeFolder(root))

  /** In the user's home and with hardly a variable, as cron does. */
  const run = ({ command, path }: Pick<CronLine, 'command' | 'path'>) => {
    const here = (text: string) =>
      FOLDERS.reduce(
        (all, folder) => all.replaceAll(new RegExp(`(?<![\\w/.])${folder}(?=[/ :]|$)`, 'g'), `${root}${folder}`),
        text,
      )
    const env = { HOME: join(root, 'home'), LOGNAME: USER, SHELL: '/bin/sh', PATH: here(path) }
    const line = here(command).replaceAll('age1…', recipient)
    return new Promise<{ readonly code: number; readonly stderr: string }>((resolve) => {
      execFile('/bin/sh', ['-c', line], { cwd: env.HOME, env }, (error, _stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stderr }),
      )
    })
  }

  it('do what they are for, with the settings and the folder of the server', async () => {
    const lines = await cronLines()
    expect(lines.map(({ page }) => page)).to.have.members(['access.md', 'access.md', 'backup.md'])
    for (const line of lines) expect(await run(line), line.command).to.deep.equal({ code: 0, stderr: '' })
    const page = await readFile(join(root, 'reviews/access.html'), 'utf8')
    expect(page)
      .to.match(/^<!doctype html>/)
      .and.to.contain('<td>alice</td>')
    const usage = await readFile(join(root, 'reviews/usage.txt'), 'utf8')
    expect(usage).to.contain('1 request decided again').and.to.contain('p, member, orders, list|read')
    const [backup, ...others] = await readdir(join(root, 'backups'))
    expect([backup, others]).to.deep.equal([`${new Date().toLocaleDateString('sv')}.tar.age`, []])
  })

  it('would fail without the folder of the server, or where the shell keeps the settings to itself', async () => {
    const [line] = await cronLines()
    const { path = '', command = '' } = line ?? {}
    for (const left of ['cd /srv/sallyport && ', 'set -a && ']) {
      expect(command).to.contain(left)
      expect((await run({ path, command: command.replace(left, '') })).code, left).to.equal(2)
    }
  })
})

describe('the review commands of a new project', () => {
  it('run as its README prints them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-review-'))
    try {
      const project = join(folder, 'one')
      expect((await sallyport(['init', project, '--yes'])).code).to.equal(0)
      const settings = { POLICIES: join(project, 'policies'), SCHEMAS: join(project, 'schemas') }
      const data = { DATABASE_URL: `sqlite:${join(project, 'data/sallyport.db')}`, DATA_DIR: join(project, 'data') }
      await mkdir(data.DATA_DIR)
      const log = { DECISION_LOG_FILE: join(project, 'data/decisions.log') }
      const server = await startTestServer({
        env: { ...settings, ...data, ...log },
        uncheckedBecause: 'only commands ask',
      })
      await server.ask('GET', '/api/users')
      await server.stop()
      const section = sectionOf(await readFile(join(project, 'README.md'), 'utf8'), 'Review access')
      const commands = blocksOf(section).flatMap((block) => block.commands)
      expect(commands).to.have.length(2)
      for (const command of commands) {
        const [, words = '', file] = /^npx sallyport ([^>]+?)(?: > (\S+))?$/.exec(command) ?? []
        const { code, stdout, stderr } = await sallyport(words.split(' '), { cwd: project })
        expect([code, stderr], command).to.deep.equal([0, ''])
        if (file) expect(stdout).to.match(/^<!doctype html>/)
        else expect(stdout).to.match(/^\d+ requests? decided again/)
      }
    } finally {
      await removeFolder(folder)
    }
  })
})
