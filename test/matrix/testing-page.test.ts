/** docs/testing-policies.md: its commands work as printed, and print what it shows; the CI example has real commands. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { unknownIn } from '../known-commands.ts'
import { openPageCommands, type PageCommands } from '../page-commands.ts'
import { freePort } from '../redis.ts'
import { inTurn, soak } from '../runs.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const PAGE = readFileSync(join(ROOT, 'docs/testing-policies.md'), 'utf8')

interface Block {
  readonly language: string
  readonly text: string
}

const blocks: readonly Block[] = [...PAGE.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].map(
  ([, language = '', text = '']) => ({ language, text }),
)

describe('docs/testing-policies.md', () => {
  let folder: string
  let server: ChildProcess
  let inProcess: PageCommands
  let port: number

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-page-'))
    for (const name of ['policies', 'schemas']) await symlink(join(ROOT, name), join(folder, name))
    await mkdir(join(folder, 'test'))
    await symlink(join(ROOT, 'test/matrix'), join(folder, 'test/matrix'))
    inProcess = await openPageCommands()
    port = await freePort()
    const env = { ...process.env, PORT: String(port), ADMIN_PORT: '0', LOG_LEVEL: 'silent' }
    server = spawn(process.execPath, [join(ROOT, 'bin/sallyport.js'), 'serve', '--demo'], { cwd: folder, env })
    await new Promise((resolve) => server.stdout?.once('data', resolve))
  })
  after(async () => {
    await endNow(server)
    await inProcess.close()
    await removeFolder(folder)
  })

  it('leads from a spreadsheet to a red cell understood, as printed', async () => {
    const csv = textOf('csv')
    expect(spreadsheet(PAGE)).to.equal(csv)
    await writeFile(join(folder, 'my-orders.csv'), csv)
    const [ask = '', explain = '', again = ''] = commands()
    const [, red = '', green = ''] = blocks.filter(({ language }) => language === '').map(({ text }) => text)
    expect(await run(ask)).to.deep.equal({ code: 1, printed: red })
    expect(await readFile(join(folder, 'my-orders.html'), 'utf8')).to.contain('403 not 200')
    expect(red).to.contain(explain.trim())
    const { code, printed } = await run(explain)
    expect(code).to.equal(0)
    expect(printed).to.contain('policy.csv:36  p, support, orders, list|read, any, *, allow')
    expect(PAGE).to.contain('because of line 36 of `policies/policy.csv`')
    await writeFile(
      join(folder, 'my-orders.csv'),
      csv.replace('{id},placed+open,401,403,403', '{id},placed+open,401,403,200'),
    )
    expect(await run(again)).to.deep.equal({ code: 0, printed: green })
  })

  it('has further commands that all work', async () => {
    const further = commands().slice(3)
    expect(further.length).to.be.at.least(10)
    for (const command of further) expect(await unknownIn(command.trim()), command).to.deep.equal([])
    expect(await unknownIn('matrix coverage --most 1')).to.deep.equal(['--most'])
    expect(await unknownIn('matrix cover')).to.deep.equal(['matrix cover'])
    const quick = further.filter((command) => command.includes('--report'))
    const first = further.filter((command) => command.includes('matrix init'))
    const slow = further.filter((command) => ![...quick, ...first].includes(command))
    for (const command of soak([...quick, ...first, ...inTurn(slow, 2)], quick))
      expect((await run(command)).code, command).to.equal(0)
    expect(await readFile(join(folder, 'matrix.xml'), 'utf8')).to.contain('<testsuites')
  })

  it('quotes a rule with its line', () => {
    const [, line, rule] = /^policy\.csv:(\d+) +[a-z-]+ +(p, .*) -> /m.exec(PAGE) ?? []
    const rules = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8').split('\n')
    expect(rules[Number(line) - 1]?.replaceAll(/ +/g, ' ')).to.equal(rule)
  })

  it('shows a case that holds, and tokens that are read', async () => {
    await writeFile(join(folder, 'case.yaml'), textOf('yaml'))
    const { code, printed } = await run('npm run -s sallyport -- matrix test case.yaml\n')
    expect({ code, printed: printed.split('\n').at(-2) }).to.deep.equal({
      code: 0,
      printed: 'The only cell is as expected (0.2 s, in this process).',
    })
  })

  it('points to a workflow whose command exists', async () => {
    const workflow = parse(await readFile(join(ROOT, 'docs/ci/github-actions.yml'), 'utf8'))
    const steps: readonly { readonly run?: string }[] = workflow.jobs.policy.steps
    const told = steps.flatMap(({ run: command = '' }) => (command.includes('sallyport') ? [command] : []))
    expect(told).to.deep.equal(['npx --no -- sallyport matrix attack'])
  })

  function commands(): readonly string[] {
    return blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.trim().split('\n'))
      .map((line) => `${line}\n`)
  }

  function textOf(language: string): string {
    return blocks.find((block) => block.language === language)?.text ?? ''
  }

  /** In the folder, at the port of this test; how long it took and where are put back as the page has them. */
  function run(command: string): Promise<{ readonly code: number; readonly printed: string }> {
    const here = command
      .replaceAll('npm run -s sallyport --', `'${inProcess.program}'`)
      .replaceAll(':3000', `:${port}`)
      .replace('/tmp/matrix', 'matrix')
    // As npm tells the program which script runs it.
    const env = { ...process.env, DATA_DIR: 'data', npm_lifecycle_event: 'sallyport' }
    return new Promise((resolve) => {
      const child = execFile('sh', ['-c', here], { cwd: folder, env }, (error, stdout, stderr) => {
        const printed = `${stdout}${stderr}`.replaceAll(`:${port}`, ':3000').replace(/\(\d+\.\d s,/, '(0.2 s,')
        resolve({ code: error ? Number(error.code) : 0, printed })
      })
      child.stdin?.end()
    })
  }
})

/** The page's first table as CSV. */
function spreadsheet(page: string): string {
  const rows = page.slice(page.indexOf('| method | path |')).split('\n\n')[0]?.split('\n') ?? []
  const cells = rows.filter((row) => !row.startsWith('|---')).map((row) => row.slice(2, -2).split(' | ').join(','))
  return `${cells.join('\n')}\n`
}
