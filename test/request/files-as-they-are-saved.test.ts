/** Policy files on a running server while they are no sound files: half-written, gone, something else, or an editor's doing. */
import { execFileSync } from 'node:child_process'
import { mkdir, open, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { block, unblock } from '../../src/tools/release/folder/folder-target.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { sleep } from './raw.ts'
import { readinessOf } from './readiness.ts'
import { until } from './until.ts'

const MORE = 'p, member, users, read, any, public, allow\n'

describe('a policy file that is being saved', () => {
  let server: TestServer
  let token: string
  let text: string

  beforeEach(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
    text = await readFile(file('policy.csv'), 'utf8')
  })
  afterEach(() => server.stop())

  const FAULTS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    'is cut off in the middle of a line': (path) => writeFile(path, text.slice(0, text.lastIndexOf(','))),
    'is other bytes than text': (path) => writeFile(path, Buffer.from([0x70, 0x2c, 0xff, 0xfe, 0x00])),
    'is a folder': (path) => mkdir(path),
    'is a link to nothing': (path) => symlink('/nowhere/policy.csv', path),
    'is a link to itself': (path) => symlink('policy.csv', path),
    'is a pipe that nobody writes to': async (path) => execFileSync('mkfifo', [path]),
    'is a device without end': (path) => symlink('/dev/zero', path),
    'is not there': async () => undefined,
  }
  for (const [what, put] of Object.entries(FAULTS)) {
    it(`and ${what} leaves the policy before it in force, loudly, until it is whole again`, async () => {
      const { revision } = server.app.policy.active
      await rm(file('policy.csv'))
      await put(file('policy.csv'))
      const { body } = await until(readiness, ({ body }) => body.status === 'degraded')
      expect(body.checks.policy.detail)
        .to.match(/policy\.csv:\d+:\d+/)
        .and.to.contain(`revision ${revision}`)
      expect(server.log.some(({ msg }) => msg === 'policy refused; the previous policy stays in force')).to.equal(true)
      const answer = await bobsProfile()
      expect([answer.status, answer.headers.get('policy-revision')]).to.deep.equal([403, revision])
      await removeFolder(file('policy.csv'))
      await writeFile(file('policy.csv'), withRules(text, MORE))
      await until(bobsProfile, ({ status }) => status === 200)
      expect((await readiness()).body.status).to.equal('ok')
    })
  }

  const SAVES: Readonly<Record<string, () => Promise<unknown>>> = {
    async 'vim, which tries a file, moves the old one away and writes another'() {
      await writeFile(file('.policy.csv.swp'), 'b0VIM 9.1')
      await writeFile(file('4913'), '')
      await unlink(file('4913'))
      await rename(file('policy.csv'), file('policy.csv~'))
      await writeFile(file('policy.csv'), withRules(text, MORE))
      await unlink(file('policy.csv~'))
    },
    async 'emacs, with its lock and its copy'() {
      await symlink('somebody@host.1:1', file('.#policy.csv'))
      await writeFile(file('#policy.csv#'), 'p, half')
      await rename(file('policy.csv'), file('policy.csv~'))
      await writeFile(file('policy.csv'), withRules(text, MORE))
      await unlink(file('#policy.csv#'))
    },
    'sed -i': async () => execFileSync('sed', ['-i', `/^# end of policy/i ${MORE.trim()}`, file('policy.csv')]),
    async 'nano, which empties the file and writes it'() {
      const handle = await open(file('policy.csv'), 'w')
      await sleep(120)
      const whole = withRules(text, MORE)
      await handle.writeFile(whole.slice(0, whole.indexOf(MORE)))
      await sleep(120)
      await handle.writeFile(whole.slice(whole.indexOf(MORE)))
      await handle.close()
    },
  }
  for (const [editor, save] of Object.entries(SAVES)) {
    it(`by ${editor}, is in force once it is whole, and never before`, async () => {
      await save()
      await until(bobsProfile, ({ status }) => status === 200)
      expect(
        server.log.filter(({ msg }) => msg === 'policy refused; the previous policy stays in force'),
      ).to.deep.equal([])
      const { status } = await server.ask('GET', '/api/v1/notes', { token })
      expect(status).to.equal(200)
    })
  }

  it('has files of editors beside it, and nobody cares', async () => {
    const { revision } = server.app.policy.active
    for (const name of ['policy.csv~', '.policy.csv.swp', '4913', '#policy.csv#']) {
      await writeFile(file(name), 'p, everyone, *, *, any, *, allow\n')
    }
    await symlink('/nowhere', file('.#policy.csv'))
    await sleep(900)
    expect((await bobsProfile()).status).to.equal(403)
    expect(server.app.policy.active.revision).to.equal(revision)
    expect((await readiness()).body.status).to.equal('ok')
  })

  for (const name of ['policy.csv.bak', 'policy (1).csv']) {
    it(`has the copy ${name} beside it, which is told until it is gone`, async () => {
      const { revision } = server.app.policy.active
      await writeFile(file(name), 'p, everyone, *, *, any, *, allow\n')
      await writeFile(file('policy.csv'), withRules(text, MORE))
      const { body } = await until(readiness, ({ body }) => body.status === 'degraded')
      expect(body.checks.policy.detail).to.contain(`${name}:1:1`)
      expect((await bobsProfile()).status).to.equal(403)
      expect(server.app.policy.active.revision).to.equal(revision)
      await rm(file(name))
      await until(bobsProfile, ({ status }) => status === 200)
      expect((await readiness()).body.status).to.equal('ok')
    })
  }

  it('without a pause is not taken half, and puts no block off', async () => {
    const { revision } = server.app.policy.active
    const lines = text.split('\n')
    let writing = true
    const writer = (async () => {
      for (let i = 1; writing; i++) {
        await writeFile(file('policy.csv'), lines.slice(0, i % lines.length).join('\n'))
        await sleep(60)
      }
    })()
    await sleep(700)
    expect(server.app.policy.active.revision).to.equal(revision)
    await block(join(server.folder, 'policies'), { id: 'alice', until: undefined, reason: undefined }, new Date())
    await until(bobsProfile, ({ body }) => body.code === 'blocked')
    await unblock(join(server.folder, 'policies'), 'alice')
    await until(bobsProfile, ({ body }) => body.code === 'forbidden')
    expect(server.log.filter(({ msg }) => msg === 'policy refused; the previous policy stays in force')).to.deep.equal(
      [],
    )
    writing = false
    await writer
    await writeFile(file('policy.csv'), withRules(text, MORE))
    await until(bobsProfile, ({ status }) => status === 200)
  })

  it('and is broken keeps no block from beginning, and from ending at its time', async () => {
    await writeFile(file('policy.csv'), 'broken\n')
    await until(readiness, ({ body }) => body.status === 'degraded')
    const end = new Date(Date.now() + 2500).toISOString()
    await block(join(server.folder, 'policies'), { id: 'alice', until: end, reason: 'a test' }, new Date())
    await until(bobsProfile, ({ body }) => body.code === 'blocked')
    expect(Date.now()).to.be.lessThan(Date.parse(end))
    await sleep(Date.parse(end) - Date.now() + 5)
    expect((await bobsProfile()).body.code).to.equal('forbidden')
  })

  function file(name: string): string {
    return join(server.folder, 'policies', name)
  }

  function bobsProfile(): Promise<Answer> {
    return server.ask('GET', '/api/users/bob', { token })
  }

  function readiness(): Promise<Answer> {
    return readinessOf(server)
  }
})
