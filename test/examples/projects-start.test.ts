/** `npm run example:projects`: it fills the data, serves the policy that POLICIES names, and leaves no server behind. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { signIn } from '../../examples/projects/fill.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { freePort } from '../redis.ts'

const EXAMPLE = new URL('../../examples/projects/', import.meta.url).pathname

describe('npm run example:projects', () => {
  let folder: string
  let url: string
  let env: NodeJS.ProcessEnv

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-start-'))
    const port = String(await freePort())
    url = `http://127.0.0.1:${port}`
    env = { ...process.env, PORT: port, ADMIN_PORT: '0', POLICIES: '', DATA_DIR: join(folder, 'data') }
  })
  afterEach(() => removeFolder(folder))

  it('fills DATA_DIR, and then serves POLICIES, even a policy that could not be filled', async () => {
    const policies = join(folder, 'policies')
    await cp(join(EXAMPLE, 'policies'), policies, { recursive: true })
    await rm(join(policies, 'guarantees.yaml'))
    const rules = await readFile(join(policies, 'policy.csv'), 'utf8')
    await writeFile(join(policies, 'policy.csv'), rules.replace(/^p, member, (projects|tasks),.*\n/gm, ''))
    const example = start({ ...env, POLICIES: policies })
    expect(await printedUntil(example, 'README.md'))
      .to.contain(`on ${url}, with the policy in`)
      .and.contain(policies)
    expect(await statusOf('tasks')).to.equal(403)
    expect(await statusOf('folders')).to.equal(200)
    expect((await stat(join(folder, 'data'))).isDirectory()).to.equal(true)
    example.kill()
    await once(example, 'exit')
    expect(await answers(url)).to.equal(false)
  })

  it('serves its own policy when POLICIES is empty', async () => {
    const example = start(env)
    expect(await printedUntil(example, 'README.md')).to.contain('with the policy in examples/projects/policies.')
    expect(await statusOf('tasks')).to.equal(200)
    example.kill()
    await once(example, 'exit')
  })

  it('ends the server when it cannot fill the data', async () => {
    // The server takes any free port, and the fill asks port 0.
    const example = start({ ...env, PORT: '0' })
    const printed = await printedUntil(example, undefined)
    const [listening = ''] = printed.match(/http:\/\/127\.0\.0\.1:\d+/) ?? []
    expect(listening, printed).to.not.equal('')
    expect(example.exitCode).to.equal(1)
    for (let i = 0; i < 100 && (await answers(listening)); i++) await new Promise((next) => setTimeout(next, 100))
    expect(await answers(listening)).to.equal(false)
  })

  async function statusOf(resource: string): Promise<number> {
    const headers = { authorization: `Bearer ${await signIn(url, 'alice')}` }
    return (await fetch(`${url}/${resource}`, { headers })).status
  }
})

function start(env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [join(EXAMPLE, 'start.ts')], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** What it printed until it printed this text, or ended. */
function printedUntil(example: ChildProcess, text: string | undefined): Promise<string> {
  return new Promise((resolve) => {
    let printed = ''
    for (const stream of [example.stdout, example.stderr]) {
      stream?.on('data', (chunk) => {
        printed += chunk
        if (text !== undefined && printed.includes(text)) resolve(printed)
      })
    }
    example.once('exit', () => resolve(printed))
  })
}

function answers(url: string): Promise<boolean> {
  return fetch(`${url}/livez`).then(
    () => true,
    () => false,
  )
}
