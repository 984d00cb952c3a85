/** What a server does by itself is in its decision log: it starts, with which settings, takes another policy, and stops. */
import { appendFile, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { openDecisionLog } from '../../src/decision-log/decision-log.ts'
import { PROGRAM } from '../../src/present/program.ts'
import { shownSettings } from '../../src/present/without-secrets.ts'
import { sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { runs } from '../runs.ts'
import { startTestServer } from '../server.ts'
import surface from '../stability/surface.json' with { type: 'json' }

describe('the records of a server', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  })
  after(() => removeFolder(folder))

  it('say that it starts, with which version and settings, and that it stops', async () => {
    const log = join(folder, 'decisions.log')
    const server = await startTestServer({
      env: { DECISION_LOG_FILE: log, ADMIN_TOKEN: 'hidden-hidden-hidden', CORS_ORIGINS: 'https://desk.example' },
    })
    await server.ask('GET', '/api/v1/notes')
    await server.stop()
    const records = (await readFile(log, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(records.map(({ method, action }) => `${method} ${action}`)).to.deep.equal([
      'SERVER start',
      'GET list',
      'SERVER stop',
    ])
    const [start, asked, stop] = records
    const { instance, revision } = asked
    expect(start).to.deep.include({ instance, revision, version: PROGRAM.version, status: 200, outcome: 'allowed' })
    expect(start.settings).to.include({ ADMIN_TOKEN: '…', CORS_ORIGINS: 'https://desk.example', PORT: '0' })
    expect(stop).to.include({ instance, revision })
    const { stdout } = await sallyport(['decisions', 'query', log, '--action', 'start'])
    expect(stdout).to.match(/^\S+ {2}200 {2}allowed {2}SERVER {3}start {2}version \d+\.\d+\.\d+ {2}[\w-]{36}\n$/)
  })

  it('say that another policy is in force, and which one was before', async () => {
    const server = await startTestServer()
    const { revision: previous } = server.app.policy.active
    await appendFile(join(server.folder, 'policies/policy.csv'), '# A remark.\n')
    await server.app.policy.reload()
    const { revision } = server.app.policy.active
    const [start, changed] = await server.deeds()
    expect(start).to.include({ action: 'start', revision: previous })
    expect(changed).to.include({ action: 'policy', revision, previous })
    expect(revision).not.to.equal(previous)
    await server.stop()
  })

  it('say how many records are lost, once the log can be written again', async () => {
    const written: string[] = []
    let isFull = false
    const sink = {
      append: (text: string) => {
        if (isFull) throw new Error('no space')
        written.push(...text.trimEnd().split('\n'))
      },
      holds: async () => new Set<number>(),
      sync: async () => undefined,
      reopen: () => undefined,
      close: () => undefined,
    }
    const records = { start: () => 'start', stop: () => 'stop', lost: (count: number) => `lost ${count}` }
    const outbox = { waiting: async () => [], release: async () => undefined }
    const log = await openDecisionLog({ sink, outbox, records } as never, () => undefined)
    log.begin()
    await log.note('a')
    isFull = true
    for (const line of ['b', 'c']) await log.note(line).catch(() => undefined)
    isFull = false
    await log.note('d')
    isFull = true
    await log.note('e').catch(() => undefined)
    isFull = false
    // Here, the record of the lost ones was lost, too, and the last line is the first one that can be written again.
    await log.close()
    expect(written).to.deep.equal(['start', 'a', 'd', 'stop', 'lost 3'])
  })

  it('are not made of a start that fails', async () => {
    const server = await startTestServer()
    const log = join(folder, 'failed.log')
    const env = { PORT: new URL(server.url).port, DECISION_LOG_FILE: log }
    expect(String(await startTestServer({ env }).catch((error) => error))).to.contain('EADDRINUSE')
    expect(await readFile(log, 'utf8')).to.equal('')
    await server.stop()
  })

  const NAMES = Object.keys(surface.members).flatMap(
    (key) => /^setting (?<name>[A-Z_]+)$/.exec(key)?.groups?.name ?? [],
  )
  const letters = (characters: string) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength: 12, maxLength: 20 })
  const secret = fc
    .tuple(letters('abcdefghijklmnopqrstuvwxyz'), letters('ABCDEFGHIJKLMNOPQRSTUVWXYZ'), letters('0123456789'))
    .map((parts) => parts.join(''))
  const FORMS: readonly ((word: string) => string)[] = [
    (word) => word,
    (word) => `postgres://app:${word}@db.example/app`,
    (word) => `https://${word}@collector.example/in`,
    (word) => `https://collector.example/in?token=${word}`,
    (word) => `https://collector.example/in?token=ab@${word}`,
    (word) => `postgres://app:a?b@${word}@[::1]:5432,db.example:5433/app?target_session_attrs=any`,
    (word) => `--database=postgres://app:${word}@db.example:5432/app?sslmode=disable`,
    (word) => `https://collector.example:4318/in#${word}`,
    (word) => `-----BEGIN PRIVATE KEY-----\n${word}\n-----END PRIVATE KEY-----`,
  ]

  it('show no secret of a setting', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), secret, fc.constantFrom(...FORMS), (name, word, form) => {
        const shown = JSON.stringify(shownSettings({ [name]: form(word) }))
        expect(shown).to.contain(name)
        for (let at = 0; at + 12 <= word.length; at++) expect(shown).not.to.contain(word.slice(at, at + 12))
      }),
      { numRuns: runs(200) },
    )
    for (const name of ['ADMIN_TOKEN', 'KEYS_SECRET', 'DECISION_LOG_SEND_HEADERS', 'POLICY_SIGNING_KEY']) {
      expect(shownSettings({ [name]: 'short' }), name).to.deep.equal({ [name]: '…' })
    }
    // A negative control: what is no secret is shown, and what is no setting isn't.
    expect(shownSettings({ PORT: '3000', HOST: 'desk.example', HOME: '/root', OTEL_X: '' })).to.deep.equal({
      HOST: 'desk.example',
      PORT: '3000',
    })
  })

  it('show each host and port of a URL, whatever stands around them', () => {
    const name = fc.constantFrom('db.example', '127.0.0.1', '[::1]', '[fd00::1:2]', 'localhost')
    const place = fc.tuple(name, fc.integer({ min: 1, max: 65_535 })).map(([host, port]) => `${host}:${port}`)
    const places = fc.array(place, { minLength: 1, maxLength: 3 }).map((all) => all.join())
    const login = fc.oneof(
      fc.constantFrom('', 'app@', ':@'),
      secret.map((word) => `app:${word}@`),
      secret.map((word) => `${word}@x:a/${word}@`),
    )
    const end = fc.constantFrom(
      '',
      '/',
      '/app',
      '/0',
      '?a=b',
      '/app?sslmode=disable',
      '/a/q8vEjWeJ0rze8SFZ4k1vN7xI0V?a=b',
    )
    const setting = fc.constantFrom('DATABASE_URL', 'REDIS_URL', 'LOG_WITNESS', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
    fc.assert(
      fc.property(setting, login, places, end, (key, before, hosts, after) => {
        const shown = shownSettings({ [key]: `scheme://${before}${hosts}${after}` })[key] ?? ''
        const start = before === '' ? 'scheme://' : '…@'
        expect(shown.startsWith(`${start}${hosts}`), shown).to.equal(true)
        expect(shown.slice(start.length + hosts.length)).to.match(/^(?:$|[/?])/)
      }),
      { numRuns: runs(200) },
    )
    expect(
      shownSettings({ DATABASE_URL: 'postgres://me:word@127.0.0.1:5432,127.0.0.1:5433/x?sslmode=disable' }),
    ).to.deep.equal({ DATABASE_URL: '…@127.0.0.1:5432,127.0.0.1:5433/x?…' })
  })
})
