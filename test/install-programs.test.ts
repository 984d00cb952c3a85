/** What `npm test` needs of the machine: it is named before a test starts, and before anything is installed. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeWithTests } from './ends-with-tests.ts'

const ROOT = new URL('..', import.meta.url).pathname

describe('the programs that tests need', () => {
  let bin: string
  before(() => {
    bin = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-programs-')))
    // In place of the real one, which would install them.
    writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\necho "$@" >> '${bin}/asked'\necho "$@" >&2\nexit 1\n`)
    chmodSync(join(bin, 'apt-get'), 0o755)
  })

  it('are named with the one command for them, where the tests may not install', () => {
    const { status, stderr } = installAs(1000)
    expect(status).to.equal(1)
    expect(stderr).to.match(/programs that are missing: .*\bredis-server\b/)
    const [, packages = ''] = /sudo apt-get install -y --no-install-recommends ([a-z -]+)\)/.exec(stderr) ?? []
    expect(packages.split(' ')).to.include.members(['chromium-headless-shell', 'curl', 'redis-server', 'wrk'])
    expect(stderr.trim().split('\n')).to.have.length(1)
    expect(stderr).to.not.include('installing')
  })

  it('are named before the tests install them as root', () => {
    const { status, stderr } = installAs(0)
    expect(status).to.equal(1)
    const [first, second] = stderr.split('\n')
    expect(first).to.match(/^the tests need programs that are missing: installing the Debian packages .*redis-server/)
    expect(second).to.include('sudo apt-get install')
  })

  it('are looked for, and nothing is said where none is missing', () => {
    const every = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-every-')))
    const named =
      installAs(1000)
        .stderr.match(/missing: (.*?)\. Install/)?.[1]
        ?.split(', ') ?? []
    for (const name of [...named, 'postgres', 'script', 'openssl']) {
      writeFileSync(join(every, name), '')
      chmodSync(join(every, name), 0o755)
    }
    expect(installAs(1000, every).stderr).to.not.match(/\b(redis-server|wrk|chromium-headless-shell)\b/)
  })

  /** As this user, with no program in the path but those of the folder. */
  function installAs(uid: number, path: string = bin) {
    const code = `process.getuid = () => ${uid}; await import('./test/install-programs.ts')`
    const args = ['--input-type=module', '-e', code]
    return spawnSync(process.execPath, args, { cwd: ROOT, env: { PATH: path }, encoding: 'utf8' })
  }
})
