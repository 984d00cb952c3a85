/** `explain --record -` in a process of its own, with a log on its standard input. */
import { execFile } from 'node:child_process'
import { expect } from 'chai'
import { LAUNCHER } from '../../command.ts'
import { environmentOf } from '../../settings.ts'
import { SHIPPED } from './program.ts'

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
  const args = [LAUNCHER, 'policy', 'explain', '--record', '-']
  const env = { ...process.env, ...environmentOf(SHIPPED) }
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, args, { env }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    // It ends before all is written.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(log)
  })
}
