/** What somebody tries who can write the log and its tree, and what a careless operator does to them. */
import { appendFile, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeKey } from '../../../src/decision-log/tree/log-key.ts'
import { type LogTree, startLogTree, treeFolder } from '../../../src/decision-log/tree/log-tree.ts'
import { keyText } from '../../../src/decision-log/tree/signed-note.ts'
import { historyOf, pinnedKey } from '../../../src/tools/log-proof/tree-of-log.ts'
import { removeFolder } from '../../ends-with-tests.ts'

describe('a signed log', () => {
  let folder: string
  let log: string
  let inDatabase: Map<string, string>

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    inDatabase = new Map()
  })
  afterEach(() => removeFolder(folder))

  it('is no other one whose own key announces the key that somebody kept', async () => {
    await writeFile(log, linesFrom(0, 20))
    await start().close()
    const kept = (await history()).keys[0] ?? none()
    expect(pinnedKey(keyText(kept), await history())).not.to.equal(undefined)
    // The forger knows the public key, and lets a key of the same name announce it.
    const forged = join(folder, 'forged.log')
    await writeFile(forged, linesFrom(100, 20))
    await mkdir(treeFolder(forged))
    const key = await makeKey(treeFolder(forged), kept.name)
    await writeHistory(forged, { kind: 'key', key: keyText(key.verifier) })
    await start(forged).close()
    const note = key.sign(`${kept.name}/next-key\n${keyText(kept)}\n`)
    await writeHistory(forged, { kind: 'next-key', note })
    const { keys, checkpoints, unsigned } = await history(forged)
    expect([keys.length, checkpoints.length, unsigned]).to.deep.equal([2, 1, []])
    expect(
      await history(forged)
        .then((found) => pinnedKey(keyText(kept), found))
        .catch(String),
    ).to.contain('was signed by other keys than --key')
    // The forger's own key would be one.
    expect(pinnedKey(keyText(key.verifier), await history(forged))).not.to.equal(undefined)
  })

  function start(file = log, keep = 1000): LogTree {
    return startLogTree({
      file,
      keep,
      database: {
        checkpointOf: async (name) => inDatabase.get(name),
        keepCheckpoint: async (name, note) => void inDatabase.set(name, note),
      },
      instance: '3000',
      now: () => new Date(),
      report: () => 0,
      everyMs: 10,
    })
  }

  async function history(file = log) {
    return historyOf(treeFolder(file))
  }

  async function writeHistory(file: string, entry: object): Promise<void> {
    const line = { time: new Date().toISOString(), ...entry }
    await appendFile(join(treeFolder(file), 'checkpoints'), `${JSON.stringify(line)}\n`)
  }
})

function linesFrom(first: number, count: number): string {
  return Array.from({ length: count }, (_, at) => `{"record":"decision","n":${first + at}}\n`).join('')
}

function none(): never {
  throw new Error('there is none')
}
