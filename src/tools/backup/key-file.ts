/** Makes the key file of encrypted archives. */
import { open } from 'node:fs/promises'
import { ToolError } from '../load-policy.ts'
import { newKey } from './archive/encryption.ts'

/** Only its owner can read the file. Throws ToolError if it exists, and errors of the file system. */
export async function makeKeyFile(file: string, now: Date): Promise<{ readonly recipient: string }> {
  const { text, recipient } = await newKey(now)
  try {
    await using handle = await open(file, 'wx', 0o600)
    await handle.chmod(0o600)
    await handle.writeFile(text)
    await handle.sync()
    return { recipient }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new ToolError(`\`${file}\` exists already, and a lost key loses its archives; name another file`)
  }
}
