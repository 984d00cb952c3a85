/** sallyport matrix test and attack as their users run them: exit codes, sentences, reports, and Ctrl-C. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Ended, LAUNCHER, ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { sarifFaults } from '../sarif.ts'
import { startTestServer, type TestServer } from '../server.ts'

describe('sallyport matrix test', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-command-'))
  })
  afterEach(() => removeFolder(folder))

  it('exits 1 for a red cell, and writes each report that is asked for', async () => {
    const file = join(folder, 'm.csv')
    await writeFile(file, 'method,path,object,member\nGET,/api/orders/{id},open+placed,200\n')
    const reports = ['junit', 'json', 'html', 'sarif', 'text'].flatMap((format) => [
      '--report',
      `${format}=${join(folder, format)}`,
    ])
    const { code, stdout, stderr } = await run('matrix', 'test', file, ...reports)
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: '' })
    expect(stdout).to.match(/0 of 1 cells are as expected, 1 wrong, 0 can't be tried/)
    expect(await readFile(join(folder, 'text'), 'utf8')).to.equal(stdout)
    expect(await readFile(join(folder, 'junit'), 'utf8')).to.contain('failures="1"')
    expect(JSON.parse(await readFile(join(folder, 'json'), 'utf8')).counts.failed).to.equal(1)
    expect(await readFile(join(folder, 'html'), 'utf8')).to.contain('200 not 403')
    const sarif = JSON.parse(await readFile(join(folder, 'sarif'), 'utf8'))
    expect(sarifFaults(sarif)).to.deep.equal([])
    const [{ ruleId, message, locations }] = sarif.runs[0].results
    expect(ruleId).to.equal('cell-wrong')
    expect(message.text).to.match(/GET .*member.*expected 200/)
    expect(locations[0].physicalLocation.region).to.deep.equal({ startLine: 2, startColumn: 34 })
  })

  it('says before it tries a cell that a report can not be written, and exits 2', async () => {
    const file = join(folder, 'm.csv')
    await writeFile(file, 'method,path,object,member\nGET,/api/orders/{id},open+placed,403\n')
    for (const place of ['no/such.json', '.', 'm.csv/below']) {
      const { code, stdout, stderr } = await run('matrix', 'test', file, '--report', `json=${folder}/${place}`)
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.include(`the report \`${folder}/${place}\` can't be written (`)
    }
    const written = await run('matrix', 'test', file, '--report', `json=${folder}/such.json`)
    expect([written.code, (await readdir(folder)).sort()]).to.deep.equal([0, ['m.csv', 'such.json']])
  })

  it('exits 2 with a sentence for what it can not run', async () => {
    const broken = join(folder, 'm.csv')
    await writeFile(broken, 'method,path,object,member\nGET,/api/orders,none,yes\nGET,/api/orders,nobody+,200\n')
    const refused = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await run('matrix', 'test', ...args)
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).not.to.match(/^ +at /m)
      return stderr
    }
    const [faulty, absent, none, report, only] = await Promise.all([
      refused(broken),
      refused(join(folder, 'absent')),
      refused('--resource', 'nothing'),
      refused('--report', 'pdf=x'),
      refused('--only', '('),
    ])
    expect(faulty).to.match(/m.csv:2:22: the cell `yes` is not an answer .*\n.*m.csv:3:17: `nobody\+` is not an object/)
    expect(absent).to.match(/there is no such file or folder/)
    expect(none).to.match(/no cell of test\/matrix is selected/)
    expect(report).to.match(/Write FORMAT=FILE, where FORMAT is one of text, junit, json, html/)
    expect(only).to.match(/It must be a regular expression/)
  })

  it('refuses what only a deployment needs where none is named', async () => {
    for (const command of ['test', 'attack']) {
      for (const [flag, value] of [
        ['--tokens', 'x'],
        ['--data', 'data'],
        ['--setup-role', 'admin'],
      ] as const) {
        const { code, stdout, stderr } = await run('matrix', command, flag, value)
        expect({ code, stdout }, flag).to.deep.equal({ code: 2, stdout: '' })
        expect(stderr).to.equal(
          `sallyport: ${flag} has no effect without --url: name the server with --url, or omit ${flag}\n`,
        )
      }
    }
  })

  it('says of a published version that a matrix needs a directory, and how to get one', async () => {
    for (const command of ['test', 'init', 'coverage', 'mutate', 'attack']) {
      const { code, stdout, stderr } = await run('matrix', command, '--policies', 'database:3')
      expect({ code, stdout }, command).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.equal(
        'sallyport: database:3 is not a directory, which this command needs: ' +
          'write the version to one with `sallyport policy export DIR --from database:3`\n',
      )
    }
  })

  it('names, in the command that tells more of a red cell, the folders that it was run with', async () => {
    const file = join(folder, 'm.csv')
    await writeFile(file, 'method,path,object,member\nGET,/api/orders/{id},open+placed,200\n')
    await cp(join(ROOT, 'policies'), join(folder, 'next'), { recursive: true })
    const { stdout } = await run('matrix', 'test', file, '--policies', join(folder, 'next'))
    const [, command = ''] = /why: npm run -s sallyport -- (.*)/.exec(stdout) ?? []
    expect(command).to.equal(
      `policy explain --role member GET '/api/orders/{id}' --relation open+placed --policies ${folder}/next`,
    )
  })

  describe('when Ctrl-C is pressed', () => {
    let server: TestServer
    let before: number

    beforeEach(async () => {
      server = await startTestServer({ demo: true })
      before = await server.app.seeding.count('orders')
    })
    afterEach(() => server.stop())

    it('cleans up, and says so', async () => {
      const child = await runUntil(5)
      child.kill('SIGINT')
      const { code, stdout, stderr } = await ended(child)
      expect(code).to.equal(1)
      expect(stdout).to.match(/\d+ left out \(/)
      expect(stderr).to.contain('sallyport: ending, and removing the objects and users of the run')
      expect(await server.app.seeding.count('orders')).to.equal(before)
    })

    it('a second time, ends at once, and says that something is left', async () => {
      const child = await runUntil(30)
      const both = ended(child)
      child.stderr.once('data', () => child.kill('SIGINT'))
      child.kill('SIGINT')
      const { code, stderr } = await both
      expect(code).to.equal(2)
      expect(stderr).to.contain('sallyport: ended at once; some objects and users of the run remain')
      expect(await server.app.seeding.count('orders')).to.be.greaterThan(before)
    })

    /** A run that has made so many orders. */
    async function runUntil(made: number): Promise<ChildProcessWithoutNullStreams> {
      const where = ['--url', server.url, '--data', join(server.folder, 'data'), '--parallel', '1']
      const child = spawn(process.execPath, [LAUNCHER, 'matrix', 'test', ...where, '--resource', 'orders'], {
        cwd: ROOT,
      })
      while ((await server.app.seeding.count('orders')) < before + made) {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      return child
    }
  })
})

function run(...args: readonly string[]): Promise<Ended> {
  return sallyport(args)
}

function ended(
  child: ChildProcessWithoutNullStreams,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}
