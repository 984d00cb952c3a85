/** A log line stays one line, one record, whatever a client puts into a field. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect } from 'chai'
import { createLog } from '../../src/server/observe/log.ts'
import { removeWithTests } from '../ends-with-tests.ts'
import { program } from '../programs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { converse, request } from './raw.ts'

/** What ends a line for some reader, or ends a string, or moves a terminal's cursor. */
const HOSTILE = [
  '\n',
  '\r\n',
  '\u2028',
  '\u2029',
  '\u0085',
  '\u009b2J',
  '\u001b[2J',
  '"',
  '\\',
  '\u0000',
  '","status":200,"x":"',
  '\u007f',
]

/** Control characters and the separators of lines and paragraphs. */
const LINE_END = /[\p{Cc}\p{Zl}\p{Zp}]/u

describe('a log line', () => {
  it('is one line of printable JSON that gives every field back', () => {
    for (const hostile of HOSTILE) {
      const [chunks, stream] = collect()
      createLog('info', stream).info(
        { [`a${hostile}b`]: `c${hostile}d`, err: new Error(`e${hostile}f`) },
        `g${hostile}h`,
      )
      expect(chunks).to.have.length(1)
      const [line = ''] = chunks
      expect(line.slice(0, -1)).not.to.match(LINE_END)
      const parsed = JSON.parse(line)
      expect(parsed[`a${hostile}b`]).to.equal(`c${hostile}d`)
      expect([parsed.err.message, parsed.msg]).to.deep.equal([`e${hostile}f`, `g${hostile}h`])
    }
  })

  it('is sentences on a terminal, without a stack and whatever a field contains', () => {
    const module = JSON.stringify(new URL('../../src/server/observe/log.ts', import.meta.url).href)
    const error = `Object.assign(new Error('disk full\\u009b2J'), { code: 'ENOSPC' })`
    const fault = `{ file: 'policy.csv', line: 2, column: 4, code: 'unknown-role', message: 'the role is unknown' }`
    const code = [
      `const { log } = (await import(${module})).openServerLog(process.argv[1])`,
      `log.info({ url: 'http://127.0.0.1' }, 'listening'); log.error({ err: ${error}, 'a\\u009b': 'x y' }, 'not written')`,
      `log.error({ faults: [${fault}] }, 'policy refused')`,
    ].join(';')
    const at = (level: string) => {
      const file = join(removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-log-'))), 'log.mjs')
      writeFileSync(file, code.replace('process.argv[1]', JSON.stringify(level)))
      const command = `"${process.execPath}" "${file}"`
      return execFileSync(program('script'), ['-qefc', command, '/dev/null'], { encoding: 'utf8' }).replaceAll('\r', '')
    }
    const lines = at('info').replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')
    expect(lines.split('\n')).to.deep.equal([
      'listening  url=http://127.0.0.1',
      'error: not written  a\\u{9b}="x y"',
      '  disk full\\u{9b}2J',
      'error: policy refused',
      '  policy.csv:2:4: the role is unknown [unknown-role]',
      '',
    ])
    expect(JSON.parse(at('debug').split('\n')[1] ?? '').err.stack).to.be.a('string')
  })

  it('a character that would end it is found by the check', () => {
    expect('a\u2028b').to.match(LINE_END)
  })
})

describe('a decision record', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  it('keeps a hostile id in its field', async () => {
    const token = await server.token('ada', 'admin')
    for (const hostile of HOSTILE) {
      const before = (await server.decisions()).length
      await server.ask('GET', `/api/users/${encodeURIComponent(`x${hostile}y`)}`, { token })
      expect(await server.decisions()).to.have.length(before + 1)
      expect(await server.lastDecision({ method: 'GET' })).to.include({
        status: 404,
        objectId: `x${hostile}y`,
        subject: 'ada',
      })
    }
  })

  it('keeps a hostile subject in its field', async () => {
    for (const subject of ['x\u2028y', 'x"y', 'x\\', 'x","status":200,"y":"']) {
      await server.ask('GET', '/nowhere', { token: await server.token(subject, 'member') })
      expect(await server.lastDecision({ method: 'GET' })).to.include({ status: 404, subject })
    }
  })

  it('line breaks cannot come in by a header', async () => {
    for (const value of ['a\r\nb', 'a\nb', 'a\rb', 'a\0b']) {
      const { answers } = await converse(server.url, [request('GET /livez', [`X-Forwarded-For: ${value}`])])
      expect(answers[0]?.status, JSON.stringify(value)).to.equal(400)
    }
  })

  it('holds no secret: neither token, nor body, nor query', async () => {
    const token = await server.token('alice', 'member')
    const before = (await server.decisions()).length
    await server.ask('POST', '/api/v1/notes', { token, body: { title: 'my secret title' } })
    await server.ask('POST', '/api/v1/notes', { token, body: '{"title":"my secret title' })
    await server.ask('PATCH', '/profile', { token, body: { bio: 7, displayName: 'my secret name' } })
    await server.ask('GET', '/api/v1/notes?secret=my-secret', { token })
    await server.ask('GET', '/api/v1/notes', { token: `${token}x` })
    const made = (await server.decisions()).slice(before)
    const written = JSON.stringify([...made, ...server.log])
    expect(made).to.have.length(5)
    for (const secret of [token, token.split('.')[2], 'my secret', 'my-secret', 'Bearer']) {
      expect(written).not.to.contain(secret)
    }
  })
})

function collect(): [string[], Writable] {
  const chunks: string[] = []
  const write = (chunk: unknown, _encoding: string, done: () => void) => {
    chunks.push(String(chunk))
    done()
  }
  return [chunks, new Writable({ write })]
}
