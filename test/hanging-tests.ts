/** Tests that never end: they start what the scale tests start, and ends-with-tests.test.ts ends them. */

import { startHaProxy } from './haproxy.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'

describe('tests that hang', () => {
  it('start programs', async () => {
    const server = await startPostgres()
    await Promise.all([startHaProxy([server]), startPgBouncer(server), startRedis()])
    process.stdout.write('started')
    await new Promise(() => undefined)
  }).timeout(0)
})
