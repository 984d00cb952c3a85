/** docs/unused-grants.md, run as printed, on the log of a server. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { ROOT } from '../command.ts'
import { blocksOf } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { openPageCommands } from '../page-commands.ts'
import { startTestServer } from '../server.ts'

describe('docs/unused-grants.md', () => {
  it('has commands that run as printed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    const inner = await openPageCommands()
    try {
      for (const name of ['policies', 'schemas', 'package.json'])
        await cp(join(ROOT, name), join(folder, name), { recursive: true })
      for (const name of ['bin', 'src', 'node_modules']) await symlink(join(ROOT, name), join(folder, name))
      await mkdir(join(folder, 'data'))
      const server = await startTestServer({
        demo: true,
        env: { DECISION_LOG_FILE: join(folder, 'data/decisions.log') },
      })
      await server.ask('GET', '/api/orders', { token: await server.token('alice', 'member') })
      await server.stop()
      const outputs: string[] = []
      for (const { commands } of blocksOf(await readFile(join(ROOT, 'docs/unused-grants.md'), 'utf8'))) {
        const script = `exec < /dev/null\n${inner.bash}\n${commands.join('\n')}`
        const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder })
        outputs.push(stdout)
      }
      expect(outputs[0]).to.contain('decided again').and.to.contain('Needed lines: 1')
      expect(JSON.parse(await readFile(join(folder, 'usage.sarif'), 'utf8')).runs[0].results).to.deep.equal([])
      expect(outputs[2]).to.contain('policies-narrower is proven')
    } finally {
      await inner.close()
      await removeFolder(folder)
    }
  })
})
