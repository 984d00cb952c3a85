/** Makes the key file of encrypted archives. */
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ToolError } from '../load-policy.ts'
import { newKey } from './archive/encryption.ts'
import { folderFault } from './file-faults.ts'

/** Only its owner can read the file. Throws ToolError if it exists or can't be written; then there is no new file. */
export async function makeKeyFile(file: string, now: Date): Promise<{ readonly recipient: string }> {
  const { text, recipient } = await newKey(now)
  try {
    await writeNew(file, text)
    return { recipient }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw folderFault(dirname(file), error)
    throw new ToolError(`\`${file}\` exists already, and a lost key loses its archives; name another file`)
  }
}

async function writeNew(file: string, text: string): Promise<void> {
  await using handle = await open(file, 'wx', 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(text)
    await handle.sync()
  } catch (error) {
    await rm(file)
    throw error
  }
}
