/** The arena at a deployment: reached before anything is made there, and cleaned up whatever happens. */
import { revisionOf } from '../../../policy/policy-files.ts'
import { loadPolicy, ReviewError } from '../../load-policy.ts'
import type { Folders, Ground } from '../run/bind.ts'
import { cleanUp } from './clean-up.ts'
import { createDeploymentStage } from './deployment-server.ts'
import { ask, NoAnswer } from './http.ts'
import type { Arena, Lease } from './test-target.ts'
import type { TokenSource } from './token-source.ts'

export interface DeploymentSettings {
  readonly url: string
  readonly tokens: TokenSource
  readonly setupRole: string
}

/** A server that is used by others is asked a few things at a time. */
const PARALLEL = 4
const PATIENCE = { attempts: 10, longestWait: 120_000 }

/** Throws ReviewError for an address that isn't one, or where nobody answers. */
export async function openDeploymentArena(
  ground: Ground,
  folders: Folders,
  settings: DeploymentSettings,
): Promise<Arena> {
  const url = addressOf(settings.url)
  const remark = await compareRevision(url, ground, folders)
  const deployment = { ...settings, url, resources: ground.resources, patience: PATIENCE }
  const { stage, traces } = createDeploymentStage(deployment)
  const lease: Lease = { stage, release: async () => {} }
  return {
    url,
    parallel: PARALLEL,
    stage,
    lend: async () => lease,
    leave: async () => [...remark, ...(await cleanUp(deployment, traces))],
  }
}

/** Tokens travel with every request: only this machine is asked without TLS. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const local = url && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && local)) return url.href.replace(/\/+$/, '')
  throw new ReviewError('--url must be an https address (http only to this machine)')
}

/** A server with another policy may differ from the files here for that reason alone. */
async function compareRevision(url: string, { resources }: Ground, { policies }: Folders): Promise<readonly string[]> {
  const answer = await ask({ method: 'GET', url: `${url}/livez` }).catch((error) => {
    throw error instanceof NoAnswer ? new ReviewError(error.message) : error
  })
  const { files, blockedFile } = await loadPolicy(policies, resources)
  const [here, there] = [revisionOf(files, blockedFile), answer.headers['policy-revision']]
  if (there === here) return []
  if (there === undefined) return [`${url} says no Policy-Revision, so it may have another policy than ${policies}.`]
  return [`${url} has the policy ${there}, and ${policies} is ${here}: what differs may come from that.`]
}
