/** sallyport policy apply, rollback, history, promote, block and unblock, as their users run them. */
import { execFile } from 'node:child_process'
import { appendFile, chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { END } from '../../src/policy/parse/rule-lines.ts'
import { type Ended, policy } from './command.ts'
import { digestIn, Folders, revisionIn } from './fixture.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const DENY = 'p, support, orders, read, any, *, deny'

describe('the commands that change a policy', () => {
  let folders: Folders
  beforeEach(async () => {
    folders = await Folders.make()
  })
  afterEach(() => folders.remove())

  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    policy(args, { POLICIES: folders.live, ...env })

  it('apply shows what changes, puts it in force, and says which version it is', async () => {
    const candidate = await folders.candidate('new', DENY)
    const { code, stdout } = await run(['apply', candidate, '--yes', '--reason', 'support asked for it'])
    expect(code).to.equal(0)
    expect(stdout).to.contain('1 narrowing').and.to.contain('support')
    expect(stdout).to.contain(`Version 2, revision ${await revisionIn(folders.live)}, is in force in ${folders.live}.`)
    expect(await digestIn(folders.live)).to.equal(await digestIn(candidate))
  })

  it('apply --dry-run changes nothing, not even the folder', async () => {
    const before = [await digestIn(folders.live), await readdir(folders.live)]
    const { code, stdout } = await run(['apply', await folders.candidate('new', DENY), '--dry-run'])
    expect([
      code,
      stdout.includes('Nothing was changed. Run the command without --dry-run to put this in force.'),
    ]).to.deep.equal([0, true])
    expect([await digestIn(folders.live), await readdir(folders.live)]).to.deep.equal(before)
  })

  it('apply refuses files with errors, and says where they are', async () => {
    const before = await digestIn(folders.live)
    const { code, stdout } = await run([
      'apply',
      await folders.candidate('new', 'p, nobody, notes, read, any, *, allow'),
      '--yes',
    ])
    expect(code).to.equal(1)
    expect(stdout)
      .to.match(/new\/policy\.csv:\d+:4: error: /)
      .and.to.contain('Nothing was changed')
    expect(await digestIn(folders.live)).to.equal(before)
  })

  it('apply asks nobody in silence: without a terminal it wants --yes', async () => {
    const { code, stderr } = await run(['apply', await folders.candidate('new', DENY)])
    expect([code, stderr]).to.deep.equal([
      2,
      'sallyport: there is no terminal to ask for confirmation: give --yes, or --dry-run to change nothing\n',
    ])
  })

  it('apply says when there is nothing to change, or no such folder', async () => {
    expect((await run(['apply', join(ROOT, 'policies'), '--yes'])).stdout).to.contain('Nothing to change')
    expect(await run(['apply', join(folders.root, 'none'), '--yes'])).to.deep.include({ code: 2, stdout: '' })
    expect((await run(['apply', folders.live, '--yes'])).stderr).to.contain('is the directory in force: ')
  })

  it('apply never unblocks anybody, and brings blocks along', async () => {
    await writeFile(join(folders.live, 'blocked.txt'), '# why\nuser:mallory\n')
    const candidate = await folders.candidate('new', DENY)
    await writeFile(join(candidate, 'blocked.txt'), 'user:eve until=2099-01-01T00:00:00Z\n')
    const { stdout } = await run(['apply', candidate, '--yes'])
    expect(stdout).to.contain('These blocks are added').and.to.contain('user:eve is blocked until 2099')
    expect(stdout).to.not.contain('mallory')
    const text = await readFile(join(folders.live, 'blocked.txt'), 'utf8')
    expect(text).to.equal('# why\nuser:mallory\nuser:eve until=2099-01-01T00:00:00.000Z\n')
  })

  it('the previews of apply and rollback tell the blocks that will be in force', async () => {
    await writeFile(join(folders.live, 'blocked.txt'), 'user:mallory\nuser:eve\n')
    const candidate = await folders.candidate('new', DENY)
    await writeFile(join(candidate, 'blocked.txt'), 'user:eve until=2099-01-01T00:00:00Z\nuser:carl\n')
    const blocksIn = ({ stdout }: Ended) =>
      JSON.parse(stdout)
        .diff.changes.filter(({ kind }: { kind: string }) => kind === 'blocked')
        .map(({ sentence }: { sentence: string }) => sentence)
    const applied = await run(['apply', candidate, '--yes', '--format', 'json'])
    expect(blocksIn(applied)).to.deep.equal(['user:carl is blocked'])
    const back = await run(['rollback', '--yes', '--format', 'json'])
    expect(blocksIn(back), 'every block stays').to.deep.equal([])
    expect(await readFile(join(folders.live, 'blocked.txt'), 'utf8')).to.equal('user:mallory\nuser:eve\nuser:carl\n')
  })

  it('apply works over files in force that have faults', async () => {
    await appendFile(join(folders.live, 'policy.csv'), 'p, oops\n')
    const { code, stdout } = await run(['apply', await folders.candidate('new', DENY), '--yes'])
    expect([code, stdout.includes("have errors, so the changes can't be shown")]).to.deep.equal([0, true])
  })

  it('rollback goes back, history tells all of it, and JSON of both fits its schema', async () => {
    const shipped = await digestIn(folders.live)
    await run(['apply', await folders.candidate('new', DENY), '--yes', '--reason', 'a try'])
    const back = await run(['rollback', '--yes', '--format', 'json'])
    expect(back.code).to.equal(0)
    expect(await digestIn(folders.live)).to.equal(shipped)
    const history = await run(['history', '--format', 'json'])
    const { versions } = JSON.parse(history.stdout)
    expect(versions.map(({ kind, of, reason }: Record<string, unknown>) => [kind, of, reason])).to.deep.equal([
      ['rolled-back', 1, null],
      ['applied', null, 'a try'],
      ['kept', null, null],
    ])
    expect((await run(['history'])).stdout).to.match(
      /^\* +3 {2}[0-9a-f]{16} .* rolled back to 1\n +2 .*: a try\n +1 .* kept/,
    )
    for (const [name, output] of [
      ['policy-apply', back.stdout],
      ['policy-history', history.stdout],
    ] as const) {
      const schema = JSON.parse(await readFile(join(ROOT, `docs/schemas/${name}.schema.json`), 'utf8'))
      const fits = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema)
      expect(fits(JSON.parse(output)), JSON.stringify(fits.errors)).to.equal(true)
      expect(fits({ versions: [{}], outcome: 'else' })).to.equal(false)
    }
  })

  it('apply refuses a policy.csv without the last line of the one in force; rollback adds it to an older version', async () => {
    const csv = join(folders.live, 'policy.csv')
    const shipped = await readFile(csv, 'utf8')
    const endless = shipped.replace(`${END}\n`, '')
    await writeFile(csv, endless)
    const candidate = await folders.candidate('new', DENY)
    expect((await run(['apply', candidate, '--yes'])).code).to.equal(0)
    const applied = await digestIn(folders.live)
    await writeFile(join(candidate, 'policy.csv'), endless)
    const refused = await run(['apply', candidate, '--yes'])
    expect(refused.code).to.equal(1)
    expect(refused.stdout)
      .to.contain('error: the file is incomplete: its last line `# end of policy` is missing [policy-incomplete]')
      .and.to.contain('Nothing was changed')
    expect(await digestIn(folders.live)).to.equal(applied)
    expect((await run(['rollback', '--yes'])).code).to.equal(0)
    expect(await readFile(csv, 'utf8')).to.equal(shipped)
    await writeFile(join(candidate, 'policy.csv'), '')
    expect((await run(['apply', candidate, '--yes'])).stdout).not.to.contain('incomplete')
  })

  it('explain --request-id explains a record by the version that was in force then', async () => {
    const then = await revisionIn(folders.live)
    await run(['apply', await folders.candidate('new', DENY), '--yes'])
    const log = join(folders.root, 'decisions.log')
    const requestId = '0190b2c4-0000-4000-8000-000000000001'
    const record = { record: 'decision', time: '2026-12-04T18:00:00.000Z', requestId, revision: then, microseconds: 1 }
    const asked = {
      method: 'GET',
      route: '/api/orders/{id}',
      authentication: 'caller',
      subject: 'sam',
      roles: ['support'],
    }
    const held = {
      objectId: '0190b2c4-0000-7000-8000-000000000017',
      facts: { object: { customerId: 'ann', status: 'placed' } },
    }
    const answered = { outcome: 'allowed', status: 200, relations: [], ...held }
    await writeFile(log, `${JSON.stringify({ ...record, ...asked, ...answered })}\n`)
    const env = { DECISION_LOG_FILE: log, DATA_DIR: join(folders.root, 'data') }
    const explained = (id: string) => run(['explain', '--request-id', id, '--format', 'json'], env)
    const { stdout } = await explained(`urn:uuid:${requestId}`)
    const past = JSON.parse(stdout)
    expect(past.record).to.include({ sameRevision: true, sameOutcome: true })
    expect(past.record.verdict).to.equal('the files of that version give the same answer: 200')
    const now = await revisionIn(folders.live)
    expect(past.notes.join()).to.equal(
      `the present files (revision ${now}) give another answer: 403 forbidden instead of 200, because a deny takes away ` +
        'everything that is allowed, whatever the object',
    )
    await run(['rollback', '--yes'])
    const back = JSON.parse((await explained(requestId)).stdout)
    expect([back.record.verdict, back.notes]).to.deep.equal(['these files give the same answer: 200', []])
    expect((await explained('0190b2c4-0000-4000-8000-000000000002')).stderr).to.contain('holds no decision record')
    const { objectId: _, ...unnamed } = { ...record, ...asked, ...answered }
    await writeFile(log, `${JSON.stringify(unnamed)}\n`)
    expect(JSON.parse((await explained(requestId)).stdout).record).to.include({
      sameOutcome: null,
      verdict: "with these files the answer is not known: the record doesn't hold the object's id",
    })
    await writeFile(log, `${JSON.stringify({ ...record, ...asked, ...answered, revision: '0'.repeat(16) })}\n`)
    expect(await explained(requestId)).to.deep.include({ code: 2, stdout: '' })
    const { stderr } = await explained(requestId)
    expect(stderr).to.contain(`does not keep the policy of revision ${'0'.repeat(16)}: explain the request by`)
    const command = /`(sallyport decisions .*)`/.exec(stderr)?.[1] ?? ''
    const program = command.replaceAll('sallyport', `${process.execPath} bin/sallyport.js`)
    const told = await promisify(execFile)('sh', ['-c', program], {
      cwd: ROOT,
      env: { ...process.env, POLICIES: folders.live, ...env },
    })
    expect(told.stdout).to.contain('not the policy explained here')
  })

  it('rollback refuses a version whose files were edited since', async () => {
    await run(['apply', await folders.candidate('new', DENY), '--yes'])
    const [first] = (await readdir(join(folders.live, '.versions'))).filter((name) => /^\d/.test(name)).toSorted()
    await chmod(join(folders.live, '.versions', first ?? '', 'policy.csv'), 0o644)
    await appendFile(join(folders.live, '.versions', first ?? '', 'policy.csv'), '# edited\n')
    const { code, stderr } = await run(['rollback', '--yes'])
    expect([code, stderr]).to.deep.equal([
      2,
      'sallyport: the files of version 1 were edited: choose another version of `sallyport policy history`\n',
    ])
  })

  it('rollback works while blocked.txt is broken, and apply of blocks alone makes no version', async () => {
    await run(['apply', await folders.candidate('new', DENY), '--yes'])
    await writeFile(join(folders.live, 'blocked.txt'), 'nonsense\n')
    expect((await run(['rollback', '--yes'])).code).to.equal(0)
    await writeFile(join(folders.live, 'blocked.txt'), '')
    const same = await folders.candidate('same', '# x')
    await run(['apply', same, '--yes'])
    await writeFile(join(same, 'blocked.txt'), 'user:eve\n')
    const { stdout } = await run(['apply', same, '--yes'])
    expect(stdout).to.contain('The blocks are in force').and.not.to.contain('Version')
    expect(await readFile(join(folders.live, 'blocked.txt'), 'utf8')).to.equal('user:eve\n')
  })

  it('promote applies POLICY_CANDIDATE', async () => {
    const candidate = await folders.candidate('new', DENY)
    expect((await run(['promote', '--yes'])).stderr).to.contain('there is no candidate')
    expect((await run(['promote', '--yes'], { POLICY_CANDIDATE: candidate })).code).to.equal(0)
    expect(await digestIn(folders.live)).to.equal(await digestIn(candidate))
  })

  it('block adds a line with its reason, unblock takes both away, and everything else stays', async () => {
    const file = join(folders.live, 'blocked.txt')
    await writeFile(file, '# ours\nuser:mallory  # since May')
    const blocked = await run(['block', 'user:eve', '--until', '2099-01-01T00:00:00Z', '--reason', 'stolen\nlaptop'])
    expect(blocked.stdout).to.equal('user:eve is blocked until 2099-01-01T00:00:00Z.\n')
    expect(await readFile(file, 'utf8')).to.match(
      /^# ours\nuser:mallory {2}# since May\n# blocked [\dT:.-]+Z: stolen laptop\nuser:eve until=2099-01-01T00:00:00Z\n$/,
    )
    expect((await run(['block', 'user:eve', '--until', '2h'])).stdout).to.contain('was already blocked')
    expect((await run(['block', 'user:eve'])).stdout).to.equal('user:eve is blocked.\n')
    expect((await run(['unblock', 'user:eve'])).stdout).to.equal('user:eve is no longer blocked.\n')
    expect(await readFile(file, 'utf8')).to.equal('# ours\nuser:mallory  # since May\n')
    expect((await run(['unblock', 'user:nobody'])).stdout).to.equal('user:nobody was not blocked.\n')
  })

  it('block and unblock take any id that a credential can have', async () => {
    const file = join(folders.live, 'blocked.txt')
    const before = await readFile(file, 'utf8')
    for (const id of ['Ann Lee', ' #1 ', 'no\u00a0break']) {
      expect((await run(['block', `user:${id}`])).code, id).to.equal(0)
      expect((await run(['unblock', `user:${id}`])).stdout, id).to.contain('is no longer blocked')
    }
    expect(await readFile(file, 'utf8')).to.equal(before)
  })

  it('block refuses nonsense, and a file that it does not understand, in one sentence', async () => {
    for (const args of [
      ['mallory'],
      ['user:'],
      [`user:${'x'.repeat(129)}`],
      ['user:x', '--until', 'soon'],
      ['user:x', '--until', '5'],
      ['user:x', '--until', '2001-01-01T00:00:00Z'],
    ]) {
      const { code, stdout, stderr } = await run(['block', ...args])
      expect([code, stdout], args.join(' ')).to.deep.equal([2, ''])
      expect(stderr).not.to.contain('    at ')
    }
    await writeFile(join(folders.live, 'blocked.txt'), 'mallory\n')
    const { code, stderr } = await run(['block', 'user:eve'])
    expect([code, stderr.startsWith(`sallyport: ${folders.live}/blocked.txt:1:1: `)]).to.deep.equal([2, true])
    expect(await readFile(join(folders.live, 'blocked.txt'), 'utf8')).to.equal('mallory\n')
  })

  it('block works while another file has faults', async () => {
    await writeFile(join(folders.live, 'policy.csv'), 'p, oops\n')
    expect((await run(['block', 'user:eve'])).code).to.equal(0)
  })
})
