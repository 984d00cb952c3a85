/** docs/published-policies.md, run as printed: keys, versions, an instance that follows them, and a key it doesn't trust. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Block, blocksOf, missingFrom } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { program } from '../programs.ts'
import { freePort } from '../redis.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const SERVE = 'POLICIES=database: npm run -s sallyport -- serve 2> server.log'

describe('docs/published-policies.md', () => {
  let folder: string
  let server: ChildProcess | undefined
  let env: NodeJS.ProcessEnv
  let blocks: readonly Block[]
  const outputs: string[] = []

  before(async () => {
    for (const name of ['curl', 'openssl'] as const) program(name)
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const name of ['policies', 'schemas', 'package.json']) {
      await cp(join(ROOT, name), join(folder, name), { recursive: true })
    }
    for (const name of ['bin', 'src', 'node_modules']) await symlink(join(ROOT, name), join(folder, name))
    env = { ...process.env, PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) }
    blocks = blocksOf(await readFile(join(ROOT, 'docs/published-policies.md'), 'utf8'))
    for (const { commands } of blocks) outputs.push(await runAll(commands))
  })
  after(async () => {
    // With the programs that npm started.
    if (server?.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
    await removeFolder(folder)
  })

  it('shows what its commands print', () => {
    expect(blocks.filter((block) => block.output.length > 0)).to.have.length(6)
    for (const [i, { output }] of blocks.entries()) {
      expect(missingFrom(outputs[i] ?? '', output), outputs[i]).to.deep.equal([])
    }
    expect(missingFrom(outputs[1] ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('every command ends as the page says: only the last status finds that an instance is behind', () => {
    const failed = outputs.join('\n').match(/^failed .*$/gm) ?? []
    expect(failed).to.deep.equal(['failed 1: npm run -s sallyport -- policy status --wait 3s'])
  })

  /** What the lines print, and of each that failed its exit code; exported variables stay from block to block. */
  async function runAll(commands: readonly string[]): Promise<string> {
    const at = commands.indexOf(SERVE)
    if (at < 0) return shell(commands)
    await serve()
    return shell(commands.slice(at + 1))
  }

  async function shell(lines: readonly string[]): Promise<string> {
    const prelude = ['[ -f .variables ] && . ./.variables']
    const told = lines.map((line) => {
      // A busy machine has more time than the page gives.
      const run = line
        .replaceAll('127.0.0.1:3000', `127.0.0.1:${env.PORT}`)
        .replace('--wait 10s', '--wait 20s')
        .replace('--wait 3s', '--wait 8s')
      return `${run}\ncode=$?; [ $code = 0 ] || printf '\\nfailed %s: %s\\n' $code '${line.replaceAll("'", '')}'`
    })
    const script = [...prelude, ...told, "export -p | grep ' POLIC' > .variables"].join('\n')
    return new Promise((resolve) => {
      execFile('bash', ['-c', script], { cwd: folder, env }, (_error, stdout, stderr) =>
        resolve(`${stdout}\n${stderr}`),
      )
    })
  }

  async function serve(): Promise<void> {
    const keys = { POLICY_PUBLIC_KEYS: 'policy-public.pem' }
    server = spawn('bash', ['-c', SERVE], { cwd: folder, env: { ...env, ...keys }, detached: true, stdio: 'ignore' })
    for (let i = 0; i < 600; i++) {
      const log = await readFile(join(folder, 'server.log'), 'utf8').catch(() => '')
      if (log.includes('"msg":"listening"')) return
      await sleep(50)
    }
    throw new Error(`the server doesn't listen: ${await readFile(join(folder, 'server.log'), 'utf8')}`)
  }
})
