/**
 * A throw-away server in this process: its own folder, key and database, the given policies without their rate limits.
 */

import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { commandProcess } from '../../../base/command-process.ts'
import { readConfig } from '../../../config/config.ts'
import { createApiKey, hashOfSecret } from '../../../identity/directory/api-key.ts'
import { openEmbeddedKey } from '../../../identity/keys/embedded/key-folder.ts'
import { issueToken } from '../../../identity/tokens/issue-token.ts'
import { startApp } from '../../../server/app.ts'
import { createLog } from '../../../server/observe/log.ts'
import type { Directory } from '../../../store/directory.ts'
import type { StartTrialServer } from './trial-target.ts'

const TOKEN_SECONDS = 60 * 60
/** The clock of a trial server may be some weeks ahead. */
const KEY_MS = 365 * 24 * 60 * 60 * 1000

/** Ignores the environment, so that it uses no other database, Redis or key. Throws the errors of a start. */
export const startTrialServer: StartTrialServer = async ({ policies, schemas }, now) => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-trial-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await copyPolicies(policies, join(folder, 'policies'))
    const config = readConfig({
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: join(folder, 'data'),
      // What it stores is thrown away, so no commit waits for the disk.
      DATABASE_URL: 'sqlite::memory:',
      POLICIES: join(folder, 'policies'),
      SCHEMAS: schemas,
      // No such folder is there: the server begins without migrations.
      MIGRATIONS: join(folder, 'migrations'),
      LOG_LEVEL: 'silent',
      // Runs choose the address of a request with X-Forwarded-For.
      TRUST_PROXY: '127.0.0.1',
    })
    const key = await openEmbeddedKey(config.dataDirectory)
    const { issuer, audience } = config.tokens
    const app = await startApp({
      config,
      log: createLog(config.logLevel, commandProcess().stderr),
      ...(now && { now }),
    })
    return {
      url: app.url,
      seeding: app.seeding,
      token: (subject, roles, { credential, authTime, acr } = {}) => {
        if (credential === 'api-key') return addApiKey(app.directory, subject, roles)
        const claims = acr === undefined ? {} : { acr }
        const lifetimeSeconds = TOKEN_SECONDS
        return issueToken(key, { subject, roles, issuer, audience, lifetimeSeconds, authTime, claims })
      },
      stop: () => app.drain().finally(remove),
    }
  } catch (error) {
    await remove()
    throw error
  }
}

async function addApiKey(directory: Directory, subject: string, roles: readonly string[]): Promise<string> {
  const { id, secret, text } = createApiKey()
  const createdAt = Date.now()
  const expiresAt = createdAt + KEY_MS
  await directory.addKey({ id, secretHash: hashOfSecret(secret), subject, roles, name: 'trial', createdAt, expiresAt })
  return text
}

/** Keeps the limits of bodies and pages, and removes the rate limits: a matrix checks who may do what. */
async function copyPolicies(from: string, to: string): Promise<void> {
  await mkdir(to)
  // The start reports what the policy lacks, and files that no policy has.
  const names = (await readdir(from)).filter((name) => !name.startsWith('.'))
  for (const name of names) await cp(join(from, name), join(to, name), { dereference: true, recursive: true })
  const limits = join(to, 'limits.yaml')
  await writeFile(limits, stringify({ ...parse(await readFile(limits, 'utf8')), limits: {} }))
}
