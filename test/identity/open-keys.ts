/**
 * One of several processes that open the keys of the same folders at the same times (see embedded-key-race.test.ts).
 * Started with a root, a number of folders and an opener. Says `ready`, is sent the time to begin (milliseconds since the
 * epoch), and answers with the kid of each folder.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEmbeddedKey } from '../../src/identity/keys/embedded/key-folder.ts'

/** `naive` writes the file when it isn't there, as one would without thinking of other processes. */
export type Opener = 'real' | 'naive'

const STEP_MS = 30

const [root = '', folders = '0', opener] = process.argv.slice(2)
const tell = process.send?.bind(process)
if (tell) await run(opener === 'naive' ? openNaively : openReally, tell)

async function run(open: (folder: string) => Promise<string>, tell: (message: unknown) => unknown): Promise<void> {
  // The first key costs the loading of the code, which would pull the processes apart.
  await open(join(root, randomUUID()))
  tell('ready')
  const [startAtMs] = await once(process, 'message')
  const kids: string[] = []
  for (let i = 0; i < Number(folders); i++) {
    await sleep(Number(startAtMs) + i * STEP_MS - Date.now())
    kids.push(await open(join(root, String(i))))
  }
  tell(kids)
}

async function openReally(folder: string): Promise<string> {
  return (await openEmbeddedKey(folder)).kid
}

async function openNaively(folder: string): Promise<string> {
  const file = join(folder, 'key')
  await mkdir(folder, { recursive: true })
  if (!(await stat(file).catch(() => undefined))) {
    const { publicKey } = generateKeyPairSync('ed25519')
    await writeFile(file, String(publicKey.export({ format: 'jwk' }).x))
  }
  return readFile(file, 'utf8')
}
