/**
 * A throw-away server in this process: its own folder, key and database, the given policies without their rate limits.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { readConfig } from '../config.ts'
import { openEmbeddedKey } from '../identity/keys/key-folder.ts'
import { issueToken } from '../identity/tokens/issue-token.ts'
import { POLICY_FILES } from '../policy/policy-files.ts'
import type { StartTrialServer } from '../tools/matrix/target/trial-target.ts'
import { startApp } from './app.ts'
import { createLog } from './observe/log.ts'

const TOKEN_SECONDS = 60 * 60

/** Ignores the environment, so that it uses no other database, Redis or key. Throws the errors of a start. */
export const startTrialServer: StartTrialServer = async ({ policies, schemas }) => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-trial-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await copyPolicies(policies, join(folder, 'policies'))
    const config = readConfig({
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: join(folder, 'data'),
      POLICIES: join(folder, 'policies'),
      SCHEMAS: schemas,
      LOG_LEVEL: 'silent',
    })
    const key = await openEmbeddedKey(config.dataDirectory)
    const { issuer, audience } = config.tokens
    const app = await startApp({ config, log: createLog(config.logLevel, process.stderr) })
    return {
      url: app.url,
      seeding: app.seeding,
      token: (subject, roles) => issueToken(key, { subject, roles, issuer, audience, lifetimeSeconds: TOKEN_SECONDS }),
      stop: () => app.drain().finally(remove),
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Keeps the limits of bodies and pages, and removes the rate limits: a matrix checks who may do what. */
async function copyPolicies(from: string, to: string): Promise<void> {
  await mkdir(to)
  const there = new Set(await readdir(from))
  // The start reports what the policy lacks.
  const names = POLICY_FILES.filter((name) => there.has(name))
  for (const name of names) await cp(join(from, name), join(to, name), { dereference: true })
  const limits = join(to, 'limits.yaml')
  await writeFile(limits, stringify({ ...parse(await readFile(limits, 'utf8')), limits: {} }))
}
