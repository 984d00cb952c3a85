/** A data folder as a version left it that kept the signing keys in files. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** `data` has a database; returns the file of the key. */
export function formerKeys(data: string): string {
  const database = new DatabaseSync(join(data, 'sallyport.db'))
  database.exec('delete from signing_keys')
  database.close()
  mkdirSync(join(data, 'keys'), { mode: 0o700, recursive: true })
  const file = join(data, 'keys/signing.jwk')
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  writeFileSync(file, JSON.stringify({ ...jwk, created: '2026-01-01T00:00:00.000Z' }), { mode: 0o600 })
  return file
}
