/** `sallyport policy matrix` as its users run it: what it prints, and what it refuses. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { startTestServer } from '../../server.ts'
import { commandRun } from '../../settings.ts'

interface Ended {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

async function run(...args: readonly string[]): Promise<Ended> {
  const { stdout, error } = await commandRun(['policy', 'matrix', ...args], {
    policies: 'policies',
    schemas: 'schemas',
  })
  return { failed: error !== undefined, stdout, stderr: error ? `${error.name}: ${error.message}` : '' }
}

describe('sallyport policy matrix', () => {
  it('prints a table of the shipped policy that fits 80 characters', async () => {
    const { failed, stdout } = await run()
    expect(failed).to.equal(false)
    // The callers stand in blocks, as many side by side as fit.
    expect(stdout).to.match(/^ {2}PATCH {4}placed\+open +- +-/m)
    expect(stdout).to.match(/^ {2}PATCH {4}placed\+open .*progress/m)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).to.be.at.most(80)
  })

  it('prints the callers and resources that are asked for, in every form', async () => {
    const asked = ['--role', 'member', '--role', 'support+auditor', '--resource', 'orders']
    const [json, csv, html] = await Promise.all(['json', 'csv', 'html'].map((form) => run(...asked, '--format', form)))
    const document = JSON.parse(json?.stdout ?? '')
    expect(document.callers.map(({ name }: { name: string }) => name)).to.deep.equal(['member', 'support+auditor'])
    const lines: Record<string, string>[] = parse(csv?.stdout ?? '', { columns: true })
    expect(new Set(lines.map(({ resource }) => resource))).to.deep.equal(new Set(['orders']))
    expect(lines).to.have.length(document.rows.length * 2)
    expect(html?.stdout).to.match(/^<!doctype html>/)
  })

  it('names on its page who holds each role, if asked for, and refuses this for other formats', async () => {
    const server = await startTestServer()
    const env = { DATA_DIR: join(server.folder, 'data') }
    const run = async (...args: readonly string[]) => {
      const { code, ...printed } = await sallyport(args, { env })
      return { failed: code !== 0, ...printed }
    }
    const added = ['--email', 'zoe@example.com', '--name', 'Zoe <b>', '--id', 'u1', '--role', 'support']
    expect((await run('user', 'add', ...added)).stderr).to.contain('Set a password')
    const expires = ['--expires', '1d']
    await run('key', 'add', '--subject', 'robot', '--role', 'auditor', ...expires)
    const { stdout } = await run('policy', 'matrix', '--format', 'html', '--people')
    expect(stdout)
      .to.contain('Held by: Zoe &lt;b&gt; (u1).')
      .and.to.match(/Held by: robot \(API key \w+\)\./)
    expect((await run('policy', 'matrix', '--format', 'html')).stdout).not.to.contain('Held by')
    const refused = await run('policy', 'matrix', '--people')
    expect(refused).to.include({ failed: true, stdout: '' })
    expect(refused.stderr).to.contain('--format html --people')
    await server.stop()
  })

  const EXAMPLE = ['--policies', 'examples/projects/policies', '--schemas', 'examples/projects/schemas']

  it('prints the whole example of projects, although rules tell thousands of transitions apart', async () => {
    const { failed, stdout } = await run(...EXAMPLE)
    expect(failed).to.equal(false)
    expect(stdout).to.match(/^ {2}PATCH {4}!tenant\+…>… +-/m)
    expect(stdout).to.match(/^ {2}PATCH {4}tenant\+lead\+team\+done\+…>archived\+… .*progress/m)
    expect(stdout).to.include('nothing is left out of PATCH /tasks/{id}; --relation NAMES shows each write')
  })

  it('shows only objects with the relations that --relation names, also where rules tell many transitions apart', async () => {
    const asked = [...EXAMPLE, '--role', 'member', '--resource', 'tasks', '--format', 'json']
    const { stdout } = await run(...asked, '--relation', 'open+mine+tenant+team+assigned')
    const rows: readonly {
      method: string
      relation: string
      becomes?: string
      cells: readonly { fields: string[] }[]
    }[] = JSON.parse(stdout).rows
    expect(new Set(rows.map(({ relation }) => relation))).to.deep.equal(
      new Set(['tenant+team', 'tenant+open', 'tenant', '-', 'tenant+team+mine+assigned+open']),
    )
    const done = rows.find(({ becomes }) => becomes === 'mine+assigned+done')
    expect(done?.cells[0]?.fields).to.deep.equal(['status'])
  })

  it('says in one sentence what it cannot show', async () => {
    const refused = async (...args: readonly string[]) => {
      const { failed, stdout, stderr } = await run(...args)
      expect({ failed, stdout }).to.deep.equal({ failed: true, stdout: '' })
      expect(stderr.trim().split('\n')).to.have.length(1)
      return stderr
    }
    expect(await refused('--role', 'ghost')).to.match(/`ghost` is not a role of roles\.yaml/)
    expect(await refused('--resource', 'ghosts')).to.match(/no schema declares the resource `ghosts`/)
    expect(await refused('--relation', 'ownr')).to.match(/declares no relation ownr .*did you mean `owner`/)
    expect(await refused('--format', 'pdf')).to.match(/Allowed choices are table, csv, json, html/)
    expect(await refused('--schemas', 'nowhere')).to.match(/nowhere/)
  })

  it('tells every fault of files that the server would refuse', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    try {
      await cp('policies', folder, { recursive: true })
      await writeFile(join(folder, 'policy.csv'), 'p, ghost, notes, read, any, *, allow\np, member, notes\n')
      const { failed, stdout, stderr } = await run('--policies', folder)
      expect({ failed, stdout }).to.deep.equal({ failed: true, stdout: '' })
      expect(stderr)
        .to.match(/policy\.csv:1:4: .*`ghost`/)
        .and.to.match(/policy\.csv:2:/)
    } finally {
      await removeFolder(folder)
    }
  })
})
