/** A process of its own for embedded-key.test.ts: opens the key of the folder it is given and prints its kid. */
import { openEmbeddedKey } from '../../src/identity/keys/embedded/key-folder.ts'

const [, , folder = '', startAtMs = '0'] = process.argv
await new Promise((resolve) => setTimeout(resolve, Number(startAtMs) - Date.now()))
process.stdout.write((await openEmbeddedKey(folder)).kid)
