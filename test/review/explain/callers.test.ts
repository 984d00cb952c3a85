/** `policy explain` says what callers.yaml lets a service assert that asks for decisions. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../../ends-with-tests.ts'
import { run, SHIPPED } from './program.ts'

const CALLERS = `
pdp-client:
  subjects: { user: directory, identity: token, device: { asserted: [member] } }
  resources: { orders: asserted }
  fields: understood
member: { subjects: { user: token } }
"user:batch": { subjects: { job: { asserted: [] } } }
`

describe('an explanation of a question that another service asks', () => {
  let policies: string
  before(async () => {
    policies = await mkdtemp(join(tmpdir(), 'sallyport-callers-'))
    await cp(SHIPPED.policies, policies, { recursive: true })
    await writeFile(join(policies, 'callers.yaml'), CALLERS)
  })
  after(() => removeFolder(policies))

  const told = async (folder: string, ...caller: readonly string[]) => {
    const { failed, stdout, stderr } = await run({ ...SHIPPED, policies: folder }, [
      ...caller,
      ...['POST', '/access/v1/evaluation', '--format', 'json'],
    ])
    expect(failed, stderr).to.equal(false)
    const { notes } = JSON.parse(stdout)
    return notes.filter((note: string) => note.startsWith('callers.yaml')) as readonly string[]
  }

  it('names the entry and what it lets the service assert', async () => {
    expect(await told(policies, '--role', 'pdp-client')).to.deep.equal([
      'callers.yaml has the entry pdp-client: it may name subjects of user (from the directory), identity (by their ' +
        "tokens), device (asserted, at most member); it may assert attributes of orders for objects that aren't stored; it heeds " +
        '`context.fields`',
    ])
  })

  it('says what several entries give together, and that an entry of its own counts alone', async () => {
    const both = 'callers.yaml has the entries pdp-client and member, and what each of them gives counts'
    expect(await told(policies, '--role', 'pdp-client', '--role', 'member')).to.deep.equal([
      `${both}: it may name subjects of user (by their tokens); objects are as they are stored`,
    ])
    expect(await told(policies, '--role', 'pdp-client', '--subject', 'batch')).to.deep.equal([
      'callers.yaml has the entry user:batch: it may name subjects of job (asserted, without roles); objects are ' +
        'as they are stored',
    ])
  })

  it('says that the defaults hold without an entry, and nothing about other routes', async () => {
    const defaults = 'callers.yaml has no entry for the caller, so the defaults hold'
    const [note = ''] = await told(SHIPPED.policies, '--role', 'pdp-client')
    expect(note).to.equal(
      `${defaults}: it may name subjects of user (from the directory); objects are as they are stored`,
    )
    const { stdout } = await run({ ...SHIPPED, policies }, ['--role', 'pdp-client', 'GET', '/api/v1/notes'])
    expect(stdout).not.to.include('callers.yaml')
  })
})
