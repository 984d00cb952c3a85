/** Policy files as accidents, other programs and editors leave them: what isn't whole is never in force, and it is said. */
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { sleep } from './raw.ts'

/** Longer than edits in place have to rest. */
const SETTLED_MS = 800

describe('a policy file that is not whole', () => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  const file = (name: string) => join(server.folder, 'policies', name)
  const notes = async () => {
    const { status, headers } = await server.ask('GET', '/api/v1/notes', { token })
    return { status, revision: headers.get('policy-revision') }
  }
  const refusals = () => server.log.filter(({ msg }) => String(msg).startsWith('policy refused')).length

  const ACCIDENTS: Readonly<Record<string, readonly [string, (path: string, text: string) => Promise<unknown>]>> = {
    'half written': ['policy.csv', (path, text) => writeFile(path, text.slice(0, text.lastIndexOf(',')))],
    truncated: ['roles.yaml', (path) => writeFile(path, '')],
    'of broken CSV': ['policy.csv', (path, text) => writeFile(path, `${text}p, "member, notes\n`)],
    'of binary garbage': ['views.yaml', (path) => writeFile(path, Buffer.from([0xff, 0xfe, 0x00, 0x80]))],
    deleted: ['ownership.yaml', (path) => rm(path)],
    'a folder': ['limits.yaml', (path) => rm(path).then(() => mkdir(path))],
    'a link that leads nowhere': ['roles.yaml', (path) => rm(path).then(() => symlink('nowhere', path))],
    'a pipe': ['views.yaml', (path) => rm(path).then(() => void execFileSync('mkfifo', [path]))],
  }

  for (const [what, [name, accident]] of Object.entries(ACCIDENTS)) {
    it(`${what} (${name}): the old policy stays in force, and the log says so`, async () => {
      const [text, before, told] = [await readFile(file(name), 'utf8'), await notes(), refusals()]
      await accident(file(name), text)
      await server.app.policy.reload()
      expect(await notes()).to.deep.equal(before)
      expect(refusals()).to.be.greaterThan(told)
      expect((await server.ask('GET', '/readyz')).body.checks.policy.status).to.equal('degraded')
      await rm(file(name), { recursive: true, force: true })
      await writeFile(file(name), text)
      await server.app.policy.reload()
      expect((await server.ask('GET', '/readyz')).body.checks.policy.status).to.equal('ok')
    })
  }

  it('beside the others, as editors leave them while one works, changes nothing', async () => {
    const [before, told] = [await notes(), refusals()]
    await writeFile(file('.policy.csv.swp'), 'vim\u0000')
    await writeFile(file('4913'), '')
    await symlink('me@host.1234', file('.#policy.csv'))
    await writeFile(file('#policy.csv#'), 'p, emacs\n')
    await writeFile(file('policy.csv~'), 'p, backup\n')
    await sleep(SETTLED_MS)
    expect([await notes(), refusals()]).to.deep.equal([before, told])
  })

  const SAVES: Readonly<Record<string, (path: string, text: string) => Promise<unknown>>> = {
    'vim does: the old file is renamed, a new one is written': async (path, text) => {
      await rename(path, `${path}~`)
      await writeFile(path, text)
      await rm(`${path}~`)
    },
    'sed -i and emacs do: a new file is renamed over the old one': async (path, text) => {
      await writeFile(`${path}.new`, text)
      await rename(`${path}.new`, path)
    },
    'nano does: in place, bit by bit': async (path, text) => {
      await writeFile(path, '')
      for (let end = 0; end < text.length; end += 700) await writeFile(path, text.slice(0, end))
      await writeFile(path, text)
    },
  }

  for (const [how, save] of Object.entries(SAVES)) {
    it(`saved as ${how}: nothing in between is in force, then the whole file is`, async () => {
      const [text, before, told] = [await readFile(file('policy.csv'), 'utf8'), await notes(), refusals()]
      const seen = new Set<unknown>()
      const saving = save(file('policy.csv'), `${text}# saved\n`)
      for (let i = 0; i < 100 && seen.size < 2; i++) {
        const { status, revision } = await notes()
        expect(status).to.equal(200)
        seen.add(revision)
        await sleep(20)
      }
      await saving
      expect([...seen][0]).to.equal(before.revision)
      expect([seen.size, refusals()]).to.deep.equal([2, told])
    })
  }
})
