import { execFileSync } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readBlockedFile, readPolicyFiles } from '../../src/policy/policy-files.ts'
import { removeFolder } from '../ends-with-tests.ts'

describe('a policy file that is a pipe', () => {
  it('is refused at once, while the other files are still read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(new URL('../../policies', import.meta.url).pathname, folder, { recursive: true })
    await rm(join(folder, 'policy.csv'))
    execFileSync('mkfifo', [join(folder, 'policy.csv')])
    const fault = await readPolicyFiles(folder).catch((error: Error) => error.message)
    expect(fault).to.include('policy.csv:1:1: ').and.include('it is not a regular file')
    expect((await readBlockedFile(folder)).text).to.include('user:<id>')
    await removeFolder(folder)
  })
})
