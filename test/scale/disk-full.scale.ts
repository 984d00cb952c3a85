/** A database whose disk is full: writes are refused, nothing is lost, and it goes on when there is room again. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { removeNow, removeWithTests, unmountWithTests } from '../ends-with-tests.ts'
import { untested, withstand } from './withstand.ts'

const NAME = 'the disk of PostgreSQL is full for 8 s'

describe('the disk of the database', function () {
  this.timeout(600_000)
  let disk: string

  before(() => {
    disk = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-disk-')))
    unmountWithTests(disk)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', disk], { stdio: 'pipe' })
    } catch (cause) {
      untested(NAME, 'a small disk can be mounted only by root; run the suite as root', cause)
    }
  })
  after(() => {
    spawnSync('umount', ['--lazy', disk])
    removeNow(disk)
  })

  it('is full for some seconds', async () => {
    const filler = join(disk, 'filler')
    await withstand({
      name: NAME,
      databaseFolder: disk,
      happen: async ({ primary }) => {
        for (let second = 0; second < 8; second += 1) {
          // The next segment of the log finds no room.
          await switchLog(primary.url).catch(() => undefined)
          fillUp(disk, `${filler}-${second}`)
          await sleep(1000)
        }
        for (let second = 0; second < 8; second += 1) rmSync(`${filler}-${second}`)
        // An operator starts it again if it has ended.
        await primary.startIfEnded()
      },
    })
  })
})

function fillUp(folder: string, file: string): void {
  const { bavail, bsize } = statfsSync(folder)
  try {
    writeFileSync(file, Buffer.alloc(bavail * bsize))
  } catch (error) {
    // PostgreSQL has taken some of the room meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

async function switchLog(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 500, query_timeout: 500 })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('select pg_switch_wal()').finally(() => client.end().catch(() => undefined))
}
