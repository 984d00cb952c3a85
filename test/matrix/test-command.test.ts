/** sallyport matrix test and attack as their users run them: exit codes, sentences, reports, and Ctrl-C. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startTestServer } from '../server.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const LAUNCHER = join(ROOT, 'bin/sallyport.js')

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

describe('sallyport matrix test', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-command-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('exits 1 for a red cell, and writes each report that is asked for', async () => {
    const file = join(folder, 'm.csv')
    await writeFile(file, 'method,path,object,member\nGET,/api/orders/{id},other,200\n')
    const reports = ['junit', 'json', 'html', 'text'].flatMap((format) => [
      '--report',
      `${format}=${join(folder, format)}`,
    ])
    const { code, stdout, stderr } = await sallyport('matrix', 'test', file, ...reports)
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: '' })
    expect(stdout).to.match(/0 of 1 cells are as expected, 1 not as expected, 0 can't be tried/)
    expect(await readFile(join(folder, 'text'), 'utf8')).to.equal(stdout)
    expect(await readFile(join(folder, 'junit'), 'utf8')).to.contain('failures="1"')
    expect(JSON.parse(await readFile(join(folder, 'json'), 'utf8')).counts.failed).to.equal(1)
    expect(await readFile(join(folder, 'html'), 'utf8')).to.contain('200 not 403')
  }).timeout(20_000)

  it('exits 2 with a sentence for what it can not run', async () => {
    const broken = join(folder, 'm.csv')
    await writeFile(broken, 'method,path,object,member\nGET,/api/orders,none,yes\nGET,/api/orders,nobody+,200\n')
    const refused = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await sallyport('matrix', 'test', ...args)
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
    expect(faulty).to.match(/m.csv:2:22: the cell `yes` states no answer .*\n.*m.csv:3:17: `nobody\+` is not an object/)
    expect(absent).to.match(/there is no such file or folder/)
    expect(none).to.match(/no cell of test\/matrix is to be tested/)
    expect(report).to.match(/It must be one of text, junit, json, html, = and a file/)
    expect(only).to.match(/It must be a regular expression/)
  }).timeout(20_000)

  it('cleans up after Ctrl-C', async () => {
    const server = await startTestServer({ demo: true })
    const before = await server.app.seeding.count('orders')
    const where = ['--url', server.url, '--data', join(server.folder, 'data'), '--parallel', '1']
    const args = [LAUNCHER, 'matrix', 'test', ...where, '--resource', 'orders']
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
    let printed = ''
    child.stdout.on('data', (text) => {
      printed += text
    })
    while ((await server.app.seeding.count('orders')) < before + 5)
      await new Promise((resolve) => setTimeout(resolve, 5))
    child.kill('SIGINT')
    const [code] = await new Promise<[number | null]>((resolve) => child.once('close', (status) => resolve([status])))
    expect(code).to.equal(1)
    expect(printed).to.match(/\d+ left out \(/)
    expect(await server.app.seeding.count('orders')).to.equal(before)
    await server.stop()
  }).timeout(20_000)
})

function sallyport(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [LAUNCHER, ...args], { cwd: ROOT }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}
