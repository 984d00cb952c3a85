/**
 * docs/changing-policies.md, run as printed: a wrong deny is put into a candidate on purpose, found before it ruled anything,
 * fixed, put in force and taken back; and the logs tell that story.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type Block, blocksOf, missingFrom, sectionOf } from './documented.ts'
import { removeFolder } from './ends-with-tests.ts'
import { openPageCommands, type PageCommands } from './page-commands.ts'
import { program } from './programs.ts'
import { freePort } from './redis.ts'
import { until } from './until.ts'

const ROOT = new URL('..', import.meta.url).pathname
const SERVE = 'POLICY_CANDIDATE=policies-next npm start 2> server.log'
const CLEAN_UP = 'rm -rf policies-next server.log data/policy-versions && git checkout policies'

/** A busy machine can write a line of the log some seconds later. */
const PATIENT_GREP = `grep() {
  for _ in $(seq 80); do
    command grep "$@" && return
    case "$*" in *server.log) command sleep 0.25 ;; *) return 1 ;; esac
  done
  return 1
}`

type Line = Readonly<Record<string, unknown>>

describe('docs/changing-policies.md', () => {
  let folder: string
  let inner: PageCommands
  let server: ChildProcess | undefined
  let env: NodeJS.ProcessEnv
  let blocks: readonly Block[]
  const outputs: string[] = []

  before(async () => {
    program('curl')
    inner = await openPageCommands()
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const name of ['policies', 'schemas', 'package.json']) {
      await cp(join(ROOT, name), join(folder, name), { recursive: true })
    }
    // A checkout, as the reader has it.
    await promisify(execFile)('git', ['init', '-q'], { cwd: folder })
    for (const name of ['bin', 'src', 'node_modules']) await symlink(join(ROOT, name), join(folder, name))
    env = { ...process.env, PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) }
    const pageOf = (page: string) => readFile(join(ROOT, page), 'utf8')
    const doctor = sectionOf(await pageOf('docs/operating.md'), 'Find what is wrong')
    blocks = [...blocksOf(await pageOf('docs/changing-policies.md')), ...blocksOf(doctor)]
    /** How often the server has read a candidate. */
    const read = async () => (await readFile(join(folder, 'server.log'), 'utf8')).split('are compared with').length - 1
    for (const { commands } of blocks) {
      // The commands of this test are faster than a person, and than the server that reads the candidate again.
      if (commands.some((line) => line.includes('policy shadow difference')))
        await until(async () => (await read()) > 1)
      outputs.push(await runAll(commands))
    }
  })
  after(async () => {
    // With the programs that npm started.
    if (server?.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
    await inner.close()
    await removeFolder(folder)
  })

  it('shows what its commands print', () => {
    const shown = blocks.filter((block) => block.output.length > 0)
    expect(shown).to.have.length.at.least(8)
    for (const [i, { output }] of blocks.entries()) {
      expect(missingFrom(outputs[i] ?? '', output), outputs[i]).to.deep.equal([])
    }
    expect(missingFrom(outputs[0] ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('every command ends as the page says: only the first replay finds something', () => {
    const failed = outputs.join('\n').match(/^failed .*$/gm) ?? []
    expect(failed.map((line) => line.replace(/ --since.*/, ''))).to.deep.equal([
      'failed 1: npm run -s sallyport -- policy replay data/decisions.log --candidate policies-next',
    ])
  })

  it('a wrong deny is found by shadow and by replay before it ruled anything, and the log tells the whole story', async () => {
    const log = await linesOf('server.log')
    const linesWith = (text: string) => log.filter(({ msg }) => msg === text)
    // Threads of their own compare policies and answers, so either line can come first.
    expect(linesWith('policy activated').map(({ widening, narrowing }) => [widening, narrowing])).to.deep.equal([
      ...[
        [0, 1],
        [2, 0],
      ],
      ...[
        [0, 1],
        [1, 0],
      ],
    ])
    // After the way back, the corrected candidate is compared with: an admin undoes what it would freeze.
    expect(linesWith('policy shadow difference').map(({ change }) => change)).to.deep.equal([
      'refused-now',
      'refused-now',
    ])
    const [found] = log.filter(({ msg }) => msg === 'policy shadow difference')
    const records = await linesOf('data/decisions.log')
    const asked = records.find(({ requestId }) => requestId === found?.requestId)
    expect(asked).to.include({ status: 200, outcome: 'allowed', revision: found?.revision })
    const [first] = log.filter(({ msg }) => msg === 'policy activated')
    expect(first?.previous).to.equal(asked?.revision)
  })

  it('the decision log tells the same in order: allowed, allowed, refused by the new rule, allowed again, blocked', async () => {
    const records = await linesOf('data/decisions.log')
    const told = records
      .filter(({ resource, action }) => resource === 'orders' && (action === 'update' || action === 'list'))
      .map(({ action, status, problem = '' }) => `${action} ${status} ${problem}`.trim())
    expect(told).to.deep.equal([
      ...['list 200', 'update 200', 'list 200', 'update 200'],
      ...['update 403 forbidden', 'update 200'],
      ...['list 403 blocked', 'list 200'],
    ])
    const revisions = records.filter(({ action }) => action === 'update').map(({ revision }) => revision)
    expect([revisions[0], revisions[1], revisions[3]]).to.deep.equal(Array(3).fill(revisions[0]))
    expect(revisions[2]).not.to.equal(revisions[0])
  })

  /** What the lines print, and of each that failed its exit code; variables stay from block to block. */
  async function runAll(commands: readonly string[]): Promise<string> {
    const before = commands.filter((line) => line !== SERVE && line !== CLEAN_UP)
    const output = before.length > 0 ? await shell(before.map((line) => onPorts(line, env))) : ''
    if (commands.includes(SERVE)) await serve()
    return output
  }

  async function shell(lines: readonly string[]): Promise<string> {
    // A busy machine has more time than the second that the page waits.
    const prelude = [inner.bash, 'sleep() { command sleep 2; }', PATIENT_GREP, '[ -f .variables ] && . ./.variables']
    const told = lines.map(
      (line) => `${line}\ncode=$?; [ $code = 0 ] || printf '\\nfailed %s: %s\\n' $code ${quoted(line)}`,
    )
    const keep = 'printf \'SAM=%s ADA=%s ORDER=%s\' "$SAM" "$ADA" "$ORDER" > .variables'
    const script = [...prelude, ...told, keep].join('\n')
    return new Promise((resolve) => {
      const child = execFile('bash', ['-c', script], { cwd: folder, env }, (_error, stdout, stderr) =>
        resolve(`${stdout}\n${stderr}`),
      )
      child.stdin?.end()
    })
  }

  async function serve(): Promise<void> {
    server = spawn('bash', ['-c', SERVE], { cwd: folder, env, detached: true, stdio: 'ignore' })
    for (let i = 0; i < 600; i++) {
      const log = await readFile(join(folder, 'server.log'), 'utf8').catch(() => '')
      if (log.includes('"msg":"listening"') && log.includes('are compared with')) return
      await sleep(50)
    }
    throw new Error(`the server doesn't listen: ${await readFile(join(folder, 'server.log'), 'utf8')}`)
  }

  async function linesOf(file: string): Promise<readonly Line[]> {
    const text = await readFile(join(folder, file), 'utf8')
    return text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  }
})

function onPorts(line: string, { PORT, ADMIN_PORT }: NodeJS.ProcessEnv): string {
  return line.replaceAll('127.0.0.1:3000', `127.0.0.1:${PORT}`).replaceAll('127.0.0.1:9090', `127.0.0.1:${ADMIN_PORT}`)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
