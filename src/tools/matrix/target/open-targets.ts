/** Opens the targets of a run: servers in this process, or a deployment with tokens from a file or a key. */

import { namesFile } from '../../../base/files/fix-path.ts'
import { type KeyPlaceSettings, withKeys } from '../../../identity/keys/embedded/kept-keys.ts'
import { revisionOf } from '../../../policy/policy-files.ts'
import { loadPolicy, ToolError } from '../../load-policy.ts'
import type { Folders, Suite } from '../predict/suite.ts'
import type { DeploymentOptions } from './deployment-target.ts'
import { cleanUp, createDeploymentTarget } from './deployment-target.ts'
import { ask, NoAnswer } from './http.ts'
import { deploymentFacts, rulesOfRun } from './request-facts.ts'
import type { TargetPool } from './test-target.ts'
import { type MintKey, mintWith, readMint, readTokens, type TokenSource } from './token-source.ts'

export interface TargetOptions extends Folders {
  /** Absent for this process. */
  readonly url?: string
  /** A file of tokens. */
  readonly tokens?: string
  /** A file of a private key. */
  readonly key?: string
  /** Where a server keeps its signing keys: they are used without `tokens` and `key`. */
  readonly keyPlace: KeyPlaceSettings
  readonly issuer: string
  readonly audience: string
  readonly setupRole: string
}

/** Throws ToolError and FileError. */
export async function openTargetPool(suite: Suite, asked: TargetOptions): Promise<TargetPool> {
  const { url, setupRole } = asked
  if (url === undefined) {
    // Loads the server only for a run in this process.
    const { openTrialPool, startTrialServer } = await import('./trial-target.ts')
    return openTrialPool(suite, startTrialServer)
  }
  const unknown = setupRole.split('+').find((role) => !suite.policy.roles.has(role))
  if (unknown !== undefined)
    throw new ToolError(
      `roles.yaml declares no role \`${unknown}\`: name a role that may create objects with --setup-role`,
    )
  return openDeploymentPool(suite, { url, setupRole, tokens: await tokensOf(asked) })
}

async function tokensOf({ tokens, key, keyPlace, ...claims }: TargetOptions): Promise<TokenSource> {
  if (tokens !== undefined && key !== undefined) throw new ToolError('--tokens and --key are both given: give only one')
  for (const [flag, file] of Object.entries({ '--tokens': tokens, '--key': key })) {
    if (file === undefined || namesFile(file)) continue
    throw new ToolError(`${flag} names no file: write the name of a file, not what is in it`)
  }
  if (tokens !== undefined) return readTokens(tokens)
  return key === undefined ? mintWith(await signingKeyOf(keyPlace), claims) : readMint(key, claims)
}

/** Throws KeyError. */
function signingKeyOf(keyPlace: KeyPlaceSettings): Promise<MintKey> {
  return withKeys(keyPlace, async (kept) => {
    const { privateKey, kid } = (await kept.read()).current.key
    return { key: privateKey, algorithm: 'EdDSA', kid }
  })
}

type DeploymentSettings = Pick<DeploymentOptions, 'url' | 'tokens' | 'setupRole'>

/** Others use this server too. */
const PARALLEL = 4
const PATIENCE = { attempts: 10, longestWait: 120_000 }

/** Throws ToolError for an invalid address, or if no server answers there. */
async function openDeploymentPool(suite: Suite, settings: DeploymentSettings): Promise<TargetPool> {
  const url = addressOf(settings.url)
  const remark = await compareRevision(url, suite)
  const deployment = { ...settings, url, resources: suite.resources, patience: PATIENCE }
  const { targetFor, traces } = createDeploymentTarget(deployment)
  const target = targetFor({})
  const rules = rulesOfRun(suite)
  const canSignIn = settings.tokens.kind === 'minted'
  return {
    url,
    parallel: PARALLEL,
    target,
    async lend(expectation) {
      const facts = deploymentFacts(rules, expectation, { now: Date.now(), canSignIn })
      return { target: facts ? targetFor(facts) : target, release: async () => {} }
    },
    close: async () => [...remark, ...(await cleanUp(deployment, traces))],
  }
}

/** Every request carries a token, so addresses without TLS must be on this machine. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && `${url.username}${url.password}` !== '') {
    throw new ToolError(
      '--url has a user name or password, which others can read in the list of processes: leave it out',
    )
  }
  const local = url && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && local)) return url.href.replace(/\/+$/, '')
  throw new ToolError('--url must be an https address: write https://… (http://… only for this machine)')
}

/** A remark if the server's policy differs from the files here: then answers differ for that reason alone. */
async function compareRevision(url: string, { resources, folders: { policies } }: Suite): Promise<readonly string[]> {
  const answer = await ask({ method: 'GET', url: `${url}/livez` }).catch((error) => {
    throw error instanceof NoAnswer ? new ToolError(error.message) : error
  })
  const { files, blockedFile } = await loadPolicy(policies, resources)
  const [here, there] = [revisionOf(files, blockedFile), answer.headers['policy-revision']]
  if (there === here) return []
  if (there === undefined) return [`${url} sends no Policy-Revision, so its policy may differ from ${policies}.`]
  return [`${url} has the policy ${there}, but ${policies} is ${here}: differences may come from that.`]
}
