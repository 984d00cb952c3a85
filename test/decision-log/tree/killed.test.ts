/** A process that is killed at any moment leaves a tree that fits its checkpoint, and the next one goes on with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { filesOfLog } from '../../../src/decision-log/log-files.ts'
import { startLogTree, treeFolder } from '../../../src/decision-log/tree/log-tree.ts'
import { historyOf } from '../../../src/tools/log-proof/tree-of-log.ts'
import { verifyLog } from '../../../src/tools/log-proof/verify-log.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { FIRST_KILL, soak, times } from '../../runs.ts'

const KILLS = soak(times(10), 5)
const PROCESS = new URL('killed-tree.ts', import.meta.url).pathname

describe('the tree of a log whose process is killed', () => {
  it(`fits its checkpoint after each of ${KILLS} kills, and has every record`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    const log = join(folder, 'decisions.log')
    const told: string[] = []
    let signed = 0
    for (let kill = FIRST_KILL; kill < FIRST_KILL + KILLS; kill++) {
      told.push(await liveAndDie(log, 30 + ((kill * 37) % 200)))
      const found = await verdict(log)
      expect(found.faults).to.deep.equal([])
      // It goes on from where the one before it had signed.
      expect(found.newest?.size ?? 0).to.be.at.least(signed)
      signed = found.newest?.size ?? 0
    }
    expect(told.join('')).not.to.contain('failing')
    expect(signed).to.be.greaterThan(KILLS * 37)
    const database = { checkpointOf: async () => undefined, keepCheckpoint: async () => undefined }
    await startLogTree({
      file: log,
      keep: 1000,
      instance: '3000',
      now: () => new Date(),
      database,
      report: () => 0,
    }).close()
    const end = await verdict(log)
    expect(end).to.include({ first: 0, newer: 0 })
    expect(end.faults).to.deep.equal([])
    expect((await historyOf(treeFolder(log))).keys.length).to.be.greaterThan(KILLS)
    expect((await readdir(folder)).filter((name) => name.includes('.tree'))).to.deep.equal(['decisions.log.tree'])
    await removeFolder(folder)
  })
})

/** What the process reported; it is killed so long after its first report. */
async function liveAndDie(log: string, afterMs: number): Promise<string> {
  const child = spawn(process.execPath, [PROCESS, log], { stdio: ['ignore', 'pipe', 'inherit'] })
  const texts: string[] = []
  child.stdout.on('data', (text) => texts.push(String(text)))
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  await sleep(afterMs)
  child.kill('SIGKILL')
  await closed
  return texts.join('')
}

async function verdict(log: string) {
  return verifyLog(await filesOfLog(log), treeFolder(log), await historyOf(treeFolder(log)))
}
