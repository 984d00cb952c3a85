/** `sallyport add service`: another service gets what it needs to ask for decisions, and the project's tests stay green. */
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { openWorkshop, sumOf, type Workshop } from './projects.ts'

describe('sallyport add service', () => {
  let workshop: Workshop
  let server: TestServer | undefined
  const at = (...names: readonly string[]) => join(workshop.folder, 'plain', ...names)
  before(async () => {
    workshop = await openWorkshop()
    await workshop.sallyport('.', 'init', 'plain', '--yes')
  })
  after(async () => {
    await server?.stop()
    await workshop.remove()
  })

  it('changes nothing where no server has made a database yet', async () => {
    const before = await sumOf(at())
    const { code, stderr } = await workshop.sallyport('plain', 'add', 'service', 'shop')
    expect([code, stderr]).to.deep.equal([
      2,
      'sallyport: there is no database `data/sallyport.db`; start the server once, or set DATA_DIR to its data folder\n',
    ])
    expect(await sumOf(at())).to.deep.equal(before)
  })

  it('gives a key that may ask at once, with a role and a rule, and expectations that keep the tests green', async () => {
    server = await startTestServer({
      env: { POLICIES: at('policies'), SCHEMAS: at('schemas'), DATA_DIR: at('data') },
    })
    const { code, stdout, stderr } = await workshop.sallyport('plain', 'add', 'service', 'shop')
    expect(code, stderr).to.equal(0)
    expect(stdout).to.match(
      /^policies\/roles\.yaml\npolicies\/policy\.csv\ntest\/matrix\/system-access-requests\.missing\.csv\n/,
    )
    expect(stdout).to.match(/\nshop\.key\n$/)
    expect((await stat(at('shop.key'))).mode & 0o777).to.equal(0o600)
    const token = (await readFile(at('shop.key'), 'utf8')).trim()
    const body = {
      subject: { type: 'user', id: 'nobody' },
      action: { name: 'read' },
      resource: { type: 'users', id: 'nobody' },
    }
    const ask = () => server?.ask('POST', '/access/v1/evaluation', { token, body })
    let answer = await ask()
    // Until the server has read the changed files.
    for (; answer?.status === 403; answer = await ask()) await sleep(50)
    expect([answer?.status, answer?.body.decision]).to.deep.equal([200, false])
    for (const script of ['check', 'test']) {
      const ran = await workshop.script('plain', script)
      expect(ran.code, ran.stdout + ran.stderr).to.equal(0)
    }
  })

  it('leaves the role and the rule of another service as they are', async () => {
    const before = await sumOf(at('policies'))
    const { code, stdout } = await workshop.sallyport('plain', 'add', 'service', 'crm', '--expires', '12h')
    expect([code, stdout]).to.deep.equal([0, 'crm.key\n'])
    expect(await sumOf(at('policies'))).to.deep.equal(before)
    expect((await workshop.sallyport('plain', 'key', 'list')).stdout).to.include('crm ')
  })

  it('replaces no key, and leaves no file behind for a name or a role that it refuses', async () => {
    const before = await sumOf(at('policies'))
    const taken = await workshop.sallyport('plain', 'add', 'service', 'shop')
    expect([taken.code, taken.stderr]).to.deep.equal([
      2,
      'sallyport: shop.key exists already: move it away, or give the service another name\n',
    ])
    expect((await workshop.sallyport('plain', 'add', 'service', '../shop')).code).to.equal(2)
    const role = await workshop.sallyport('plain', 'add', 'service', 'erp', '--role', 'No Role')
    expect([role.code, existsSync(at('erp.key'))]).to.deep.equal([2, false])
    const people = await workshop.sallyport('plain', 'add', 'service', 'erp', '--role', 'member')
    expect([people.code, people.stderr, existsSync(at('erp.key'))]).to.deep.equal([
      2,
      'sallyport: `member` is a role with rights to data, which people have: give --role a name that only services have, like `pdp-client`\n',
      false,
    ])
    expect(await sumOf(at('policies'))).to.deep.equal(before)
  })
})
