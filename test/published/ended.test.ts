/** A server with published policies that has ended writes nothing more: neither into its folder nor to the database. */
import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { reportInstance } from '../../src/server/policy-changes/report-instance.ts'
import { until } from '../until.ts'
import { PublishedPolicies, sequenceOf } from './fixture.ts'

const DRAINED_SOON_MS = 300

describe('a server with published policies that has ended', () => {
  let published: PublishedPolicies
  beforeEach(async () => {
    published = await PublishedPolicies.make()
    await published.publish()
  })
  afterEach(() => published.remove())

  it('has kept the number of the version in force, the id of its database and its digest', async () => {
    const server = await published.start()
    const data = join(server.folder, 'data')
    const file = join(data, 'policy-sequence')
    // Whoever reads it waits until somebody writes.
    await rm(file)
    execFileSync('mkfifo', [file])
    await published.publish('# second\n')
    await until(async () => (await sequenceOf(server)) === 2)
    const drained = server.app.drain().then(() => 'drained')
    expect(await Promise.race([drained, sleep(DRAINED_SOON_MS, 'open')])).to.equal('open')
    await writeFile(file, '0\n')
    await drained
    const [{ id }, signed = ''] = await published.within(published.versions(), async (versions) => {
      return [await versions.home(), await versions.get(2)] as const
    })
    expect(await readFile(file, 'utf8')).to.equal(`2\n${id}\n${digestOfText(signed)}\n`)
    expect((await readdir(data)).filter((name) => name.startsWith('.'))).to.deep.equal([])
  })

  it('is forgotten last, whichever note of it is still on its way', async () => {
    const noted = Promise.withResolvers<void>()
    const done: string[] = []
    const forget = reportInstance(
      'one',
      {
        note: () => noted.promise.then(() => void done.push('note')),
        forget: async () => void done.push('forget'),
      },
      {
        policy: { active: { revision: 'r', sequence: 1 }, faults: [] } as unknown as LivePolicy,
        overdue: () => [],
      },
    )
    const forgotten = forget()
    await sleep(20)
    noted.resolve()
    await forgotten
    expect(done).to.deep.equal(['note', 'forget'])
  })
})
