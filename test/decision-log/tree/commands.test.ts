/** sallyport decisions verify, erase, prove and verify-proof, on the log that a real server signed. */
import { cp, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import fc from 'fast-check'
import { erasedSeal, personalParts } from '../../../src/decision-log/sealed-line.ts'
import { ROOT, sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { runs } from '../../runs.ts'
import { startTestServer } from '../../server.ts'
import { until } from '../../until.ts'

describe('a decision log that its server signs', () => {
  let folder: string
  let log: string
  let key: string
  let text: string
  let id: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    const server = await startTestServer({ demo: true, env: { DECISION_LOG_FILE: log } })
    const alice = await server.token('alice', 'member')
    for (let i = 0; i < 20; i++) await server.ask('GET', '/api/v1/notes', { token: alice })
    await server.ask('POST', '/api/v1/notes', { token: alice, body: { title: 'Milk', body: 'two', tags: [] } })
    await until(() => server.log.some(({ msg }) => msg === 'the decision log is signed by this key'))
    key = String(server.log.find(({ msg }) => msg === 'the decision log is signed by this key')?.key)
    await server.stop()
    text = await readFile(log, 'utf8')
    id = JSON.parse(text.split('\n')[7] ?? '').requestId
  })
  after(() => removeFolder(folder))

  const run = (...args: readonly string[]) => sallyport(['decisions', ...args], { env: { DECISION_LOG_FILE: log } })

  it('is whole, as text and as JSON, and the key is the one that the server told', async () => {
    const count = text.split('\n').length - 1
    const { code, stdout } = await run('verify')
    expect(stdout).to.match(new RegExp(`^whole: ${count} records as signed\nsigned by sallyport/`))
    expect(stdout).to.contain('nobody vouches for its first key')
    expect(code).to.equal(0)
    const pinned = await run('verify', '--key', key, '--format', 'json')
    expect(pinned.code, pinned.stderr).to.equal(0)
    const verdict = JSON.parse(pinned.stdout)
    await fits('decisions-verify', verdict)
    expect(verdict).to.include({ whole: true, records: count, first: 0, newer: 0, pinned: key })
    expect(verdict.newest.size).to.equal(count)
  })

  it('says which record was changed, and ends with 1', async () => {
    const copy = await copied(text.replace('"status":200', '"status":403'))
    const { code, stdout } = await run('verify', copy, '--format', 'json')
    expect(code).to.equal(1)
    const verdict = JSON.parse(stdout)
    await fits('decisions-verify', verdict)
    expect(verdict.faults.length).to.equal(1)
    expect(verdict.faults[0]).to.include({ kind: 'changed' })
    expect((await run('verify', copy)).stdout).to.match(
      /:\d+: changed: this isn't record \d+ as it was signed, between /,
    )
  })

  it('is compared with the checkpoint in the database, and with copies of it', async () => {
    const server = await startTestServer({ demo: true })
    const own = join(server.folder, 'data/decisions.log')
    const ask = () => server.ask('GET', '/api/v1/notes', {})
    await ask()
    // The first record is that of the start.
    await until(async () => (await signedIn(own)) === 2)
    const saved = join(folder, 'saved')
    await until(async () => (await cp(`${own}.tree/checkpoint`, saved).catch(() => 'none')) === undefined)
    await cp(`${own}.tree`, join(folder, 'older.tree'), { recursive: true })
    await ask()
    await until(async () => (await signedIn(own)) === 3)
    const place = { env: { DATA_DIR: join(server.folder, 'data') } }
    await until(async () => /the database \(3\)/.test((await sallyport(['decisions', 'verify'], place)).stdout))
    const json = JSON.parse(
      (await sallyport(['decisions', 'verify', '--checkpoint', saved, '--format', 'json'], place)).stdout,
    )
    await fits('decisions-verify', json)
    expect(json.compared).to.deep.equal([
      { place: saved, size: 2 },
      { place: 'the database', size: 3 },
    ])
    const cut = await sallyport(
      ['decisions', 'verify', '--tree', join(folder, 'older.tree'), '--format', 'json'],
      place,
    )
    expect(cut.code).to.equal(1)
    const verdict = JSON.parse(cut.stdout)
    await fits('decisions-verify', verdict)
    expect(verdict.faults.map(({ kind }: { kind: string }) => kind)).to.deep.equal(['cut'])
    await server.stop()
  })

  it('is verified with its older files, however they are named', async () => {
    const lines = text.split('\n')
    const copy = await copied(lines.slice(9).join('\n'))
    await writeFile(`${copy}-20261129`, `${lines.slice(0, 9).join('\n')}\n`)
    const alone = await run('verify', copy)
    expect(alone.stdout).to.contain('  the log begins with record 9: those before it are in none of these files')
    expect(alone.code).to.equal(0)
    const both = await run('verify', `${copy}-20261129`, copy, '--format', 'json')
    expect(JSON.parse(both.stdout)).to.include({ whole: true, first: 0 })
  })

  it('refuses in one sentence what it can not compare', async () => {
    const other = join(folder, 'other.log')
    await writeFile(other, text)
    const otherKey = key.replace(/\+.*/, '+00000000+AAAA')
    const wrong = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
    for (const [args, message] of [
      [['verify', other], 'there is no tree'],
      [['verify', log, '--key', otherKey], '--key is no key of a log'],
      [['verify', log, '--key', wrong], 'was signed by other keys than --key'],
      [['verify', join(folder, 'none.log')], 'there is no decision log'],
      [['prove', '--request-id', 'nobody'], 'the log has no record of the request nobody'],
      [['verify-proof', join(folder, 'none'), '--key', key], "none can't be read (no such file or directory)"],
      [['verify', log, '--checkpoint', log], 'is no checkpoint that a key of sallyport/'],
      [['verify', log, '--checkpoint', join(folder, 'none')], "none can't be read (no such file or directory)"],
    ] as const) {
      const { code, stdout, stderr } = await run(...args)
      expect(stderr, args.join(' ')).to.contain(message)
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr.trim().split('\n').length).to.equal(1)
    }
  })

  it('says in one sentence that the database with its newest checkpoint is not reached', async () => {
    const { code, stdout, stderr } = await sallyport(['decisions', 'verify', log], {
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
    })
    expect(stderr).to.match(/^sallyport: the newest checkpoint is in the database .+, which can't be read \(.+\): run /)
    expect(stderr.trim().split('\n').length).to.equal(1)
    expect([code, stdout]).to.deep.equal([2, ''])
  })

  it('proves a record to whoever has a key of it, without the log', async () => {
    const { code, stdout: proof, stderr } = await run('prove', '--request-id', `urn:uuid:${id.toUpperCase()}`)
    expect(code, stderr).to.equal(0)
    expect(proof.split('\n')[0]).to.equal('c2sp.org/tlog-proof@v1')
    const file = join(folder, 'record.tlog-proof')
    await writeFile(file, proof)
    const held = await sallyport(['decisions', 'verify-proof', file, '--key', key], {
      env: { DECISION_LOG_FILE: join(folder, 'none') },
    })
    expect(held.stdout).to.match(/^proven: record 7 of the \d+ that sallyport\//)
    expect(held.stdout).to.contain(id)
    expect(held.code).to.equal(0)
    const json = JSON.parse((await run('verify-proof', file, '--key', key, '--format', 'json')).stdout)
    await fits('decisions-verify-proof', json)
    expect(json).to.include({ proven: true, record: 7, line: text.split('\n')[7] })
  })

  it('proves nothing by a proof that was changed anywhere', async () => {
    const { stdout: proof } = await run('prove', '--request-id', id)
    const file = join(folder, 'changed.tlog-proof')
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: proof.length - 1 }), fc.constantFrom('A', '0', '\n'), async (at, character) => {
        const changed = proof.slice(0, at) + character + proof.slice(at + 1)
        if (changed === proof || meansTheSame(changed, proof)) return
        await writeFile(file, changed)
        const { code, stdout } = await run('verify-proof', file, '--key', key, '--format', 'json')
        expect(code, changed).to.equal(1)
        await fits('decisions-verify-proof', JSON.parse(stdout))
      }),
      { numRuns: runs(500, 60) },
    )
  })

  it('proves nothing by a proof with more spaces, which mean nothing in JSON', async () => {
    const { stdout: proof } = await run('prove', '--request-id', id)
    const file = join(folder, 'spaced.tlog-proof')
    const spaced = (space: string) =>
      proof.replace(/^extra (.*)$/m, (_, data) => {
        return `extra ${Buffer.from(Buffer.from(data, 'base64').toString() + space).toString('base64')}`
      })
    for (const [space, code] of [
      ['', 0],
      ['\r', 1],
      [' ', 1],
    ] as const) {
      await writeFile(file, spaced(space))
      expect((await run('verify-proof', file, '--key', key)).code, JSON.stringify(space)).to.equal(code)
    }
  })

  it('forgets a person, and is as whole as before; proofs from before still hold, and new ones too', async () => {
    const copy = await copied(text)
    const own = text.split('\n').filter((line) => line.includes('"subject":"alice"')).length
    const early = join(folder, 'early.tlog-proof')
    await writeFile(early, (await run('prove', copy, '--request-id', id)).stdout)
    const dry = await run('erase', copy, '--subject', 'alice', '--dry-run')
    expect(dry.stdout).to.match(new RegExp(`^would erase: ${own} records of requests by alice, and the facts of`))
    expect(await readFile(copy, 'utf8')).to.equal(text)

    const { code, stdout, stderr } = await run('erase', copy, '--subject', 'alice', '--format', 'json')
    expect(code, stderr).to.equal(0)
    const erasure = JSON.parse(stdout)
    await fits('decisions-erase', erasure)
    expect(erasure).to.deep.include({ subject: 'alice', dryRun: false, files: 1, own, unsealed: 0, finished: 0 })
    const left = await readFile(copy, 'utf8')
    expect(left).not.to.contain('alice')
    expect(left.length).to.equal(text.length)

    const verified = await run('verify', copy, '--key', key, '--format', 'json')
    await fits('decisions-verify', JSON.parse(verified.stdout))
    expect(JSON.parse(verified.stdout)).to.deep.include({ whole: true, erased: own, faults: [] })
    const late = join(folder, 'late.tlog-proof')
    await writeFile(late, (await run('prove', copy, '--request-id', id)).stdout)
    expect(await readFile(late, 'utf8')).not.to.contain('alice')
    for (const proof of [early, late]) expect((await run('verify-proof', proof, '--key', key)).code, proof).to.equal(0)
    const query = await run('query', copy, '--request-id', id)
    expect(query.stdout).to.contain('***')
    const again = JSON.parse((await run('erase', copy, '--subject', 'alice', '--format', 'json')).stdout)
    expect(again).to.include({ own: 0, naming: 0, finished: 0 })
  })

  it('says that an erasure was stopped before its end, and ends it the next time', async () => {
    const copy = await copied(text)
    const lines = text.split('\n')
    const at = lines.findIndex((line) => line.includes(id))
    const [part] = personalParts(lines[at] ?? '')
    if (!part) throw new Error('nothing is sealed')
    const file = await open(copy, 'r+')
    await file.write(erasedSeal(part), Buffer.byteLength(`${lines.slice(0, at).join('\n')}\n`) + part.offset)
    await file.close()
    const found = await run('verify', copy, '--format', 'json')
    await fits('decisions-verify', JSON.parse(found.stdout))
    expect([found.code, JSON.parse(found.stdout).faults[0].kind]).to.deep.equal([1, 'half-erased'])
    const erased = await run('erase', copy, '--subject', 'nobody-else')
    expect(erased.stdout).to.contain('finished: 1 record that was left half erased')
    const verdict = await run('verify', copy)
    expect([verdict.code, verdict.stdout]).to.deep.equal([0, verdict.stdout])
    expect(verdict.stdout).to.contain('1 record among them with erased parts')
  })

  it('has records of an earlier version that can not be erased, and says so', async () => {
    const older = text.replaceAll(/,"sealed(?:Facts)?":"[^"]*"/g, '')
    const { code, stdout } = await run('erase', await copied(older), '--subject', 'alice')
    expect(stdout).to.match(/not erased: \d+ records by an earlier version/)
    expect(code).to.equal(1)
  })

  async function signedIn(file: string): Promise<number> {
    // Until it is first signed, there is none.
    const checkpoint = await readFile(`${file}.tree/checkpoint`, 'utf8').catch(() => '')
    return Number(checkpoint.split('\n')[1])
  }

  async function copied(changed: string): Promise<string> {
    const place = await mkdtemp(join(folder, 'copy-'))
    await writeFile(join(place, 'decisions.log'), changed)
    await cp(`${log}.tree`, join(place, 'decisions.log.tree'), { recursive: true })
    await rm(join(place, 'decisions.log.tree/key.pem'))
    return join(place, 'decisions.log')
  }

  async function fits(schema: string, value: unknown): Promise<void> {
    const ajv = new Ajv2020({ strict: true })
    addFormats.default(ajv)
    const validate = ajv.compile(JSON.parse(await readFile(join(ROOT, `docs/schemas/${schema}.schema.json`), 'utf8')))
    expect(validate(value), JSON.stringify(validate.errors)).to.equal(true)
  }
})

/** Base64 has characters whose last bits mean nothing. */
function meansTheSame(one: string, other: string): boolean {
  const bytes = (text: string) =>
    text.split('\n').map((line) => {
      const [name, value = ''] = line.startsWith('extra ') ? line.split(' ') : ['', line.split(' ').at(-1)]
      return `${name}${line.slice(0, line.length - value.length)}${Buffer.from(value, 'base64').toString('hex')}${value.length}`
    })
  return bytes(one).join('\n') === bytes(other).join('\n')
}
