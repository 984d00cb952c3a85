/** What commands print holds nothing that a terminal obeys, wherever it comes from, and JSON means what it meant. */
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT, sallyport } from '../command.ts'
import { startTestServer } from '../server.ts'

const OBEYED = /(?!\n)\p{Cc}|[\u202a-\u202e]/u
/** Clears a terminal, in one character and in three; turns the writing; and what stays as it is. */
const HOSTILE = 'x\u009b2J\u001bc\u202e\u007fÄ\u200d'

describe('a command that prints foreign text', () => {
  it('escapes it in tables and in JSON: records, histories, names, files', async () => {
    const server = await startTestServer({ demo: true })
    try {
      const env = { POLICIES: join(server.folder, 'policies'), DATA_DIR: join(server.folder, 'data') }
      const run = async (...args: readonly string[]) => {
        const { code, stdout, stderr } = await sallyport(args, { cwd: ROOT, env })
        expect([code, stderr], args.join(' ')).to.deep.equal([0, ''])
        return stdout
      }
      const token = await server.token('ada', 'admin')
      const body = { email: 'x@example.com', displayName: HOSTILE }
      expect((await server.ask('POST', '/api/users', { token, body })).status).to.equal(201)
      const [record] = await server.decisions()
      const log = join(server.folder, 'foreign.log')
      await writeFile(log, `${JSON.stringify({ ...record, subject: HOSTILE })}\n`)
      const candidate = join(server.folder, 'candidate')
      execFileSync('cp', ['-r', env.POLICIES, candidate])
      await writeFile(join(candidate, 'limits.yaml'), `${await readFile(join(candidate, 'limits.yaml'), 'utf8')}# x\n`)
      await run('policy', 'apply', candidate, '--yes', '--reason', `${HOSTILE}\nanother line`)
      for (const args of [
        ['decisions', 'query', log],
        ['decisions', 'query', log, '--format', 'json'],
        ['policy', 'history'],
        ['policy', 'history', '--format', 'json'],
        ['user', 'list'],
        ['user', 'list', '--format', 'json'],
      ]) {
        const printed = await run(...args)
        expect(printed, args.join(' ')).not.to.match(OBEYED)
        expect(printed, args.join(' ')).to.match(/2J/)
        if (args.includes('json')) expect(textsIn(JSON.parse(printed)).join()).to.contain(HOSTILE)
        if (args.length === 2 && args[0] === 'policy') expect(printed.trimEnd().split('\n')).to.have.length(2)
      }
    } finally {
      await server.stop()
    }
  })
})

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
