/** Makes the key file of encrypted archives. */
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeDurably } from '../../base/files/durable-file.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { ToolError } from '../load-policy.ts'
import { newKey } from './archive/encryption.ts'
import { folderFault } from './file-faults.ts'

/** Only its owner can read the file. Throws ToolError if it exists or can't be written; then there is no new file. */
export async function makeKeyFile(file: string, now: Date): Promise<{ readonly recipient: string }> {
  await writingPlace(file)
  const { text, recipient } = await newKey(now)
  try {
    await writeDurably(file, text, 0o600)
    return { recipient }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new ToolError(`\`${file}\` exists already, and a lost key loses its archives; name another file`)
    }
    await rm(file, { force: true }).catch(() => undefined)
    throw folderFault(dirname(file), error)
  }
}
