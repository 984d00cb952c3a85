/** `explain --record -` in a process of its own, with a log on its standard input. */
import { execFile } from 'node:child_process'
import { expect } from 'chai'
import { SHIPPED } from './program.ts'

const COMMAND = new URL('../../settings.ts', import.meta.url).href
const PROGRAM = `
import { policyCommandOf } from '${COMMAND}'
await policyCommandOf('explain', ${JSON.stringify(SHIPPED)}).parseAsync(process.argv.slice(1), { from: 'user' })
`
const RECORD = {
  record: 'decision',
  time: '2026-06-01T00:00:00.000Z',
  revision: '0123456789abcdef',
  method: 'GET',
  route: '/api/v1/notes',
  authentication: 'anonymous',
  problem: 'credentials-missing',
  relations: [],
  rules: [],
  status: 401,
}

describe('sallyport policy explain --record -', () => {
  it('reads the first decision record, whatever else stands around it, and ends', async () => {
    const log = `{"msg":"listening"}\n\nplain text\n${JSON.stringify(RECORD)}\n${'{"record":"decision"}\n'.repeat(100_000)}`
    const stdout = await explainInput(log)
    expect(stdout).to.match(/^DENY {6}GET \/api\/v1\/notes: a client gets 401 credentials-missing/)
    expect(stdout).to.include('(not the policy explained here)')
  })
})

function explainInput(log: string): Promise<string> {
  const args = ['--input-type=module', '-e', PROGRAM, '--', '--record', '-']
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, args, (error, stdout) => (error ? reject(error) : resolve(stdout)))
    // It ends before all is written.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(log)
  })
}
