/** The arena that somebody asks for: this process, or a deployment with tokens from a file or a key. */
import { join } from 'node:path'
import { ReviewError } from '../../load-policy.ts'
import type { Folders, Ground } from '../run/bind.ts'
import { openDeploymentArena } from './deployment-target.ts'
import type { Arena } from './test-target.ts'
import { readMint, readTokens, type TokenSource } from './token-source.ts'
import type { StartTrialServer } from './trial-server.ts'
import { openTrialArena } from './trial-target.ts'

export interface Whereabouts extends Folders {
  /** Absent for this process. */
  readonly url?: string
  /** A file of tokens. */
  readonly tokens?: string
  /** A file of a private key. */
  readonly key?: string
  /** A server's data folder, whose signing key is used. */
  readonly data: string
  readonly issuer: string
  readonly audience: string
  readonly setupRole: string
}

/** Throws ReviewError and FileError. */
export async function chooseArena(ground: Ground, asked: Whereabouts, startServer: StartTrialServer): Promise<Arena> {
  const { url, setupRole } = asked
  if (url === undefined) return openTrialArena(ground, asked, startServer)
  const unknown = setupRole.split('+').find((role) => !ground.policy.roles.has(role))
  if (unknown !== undefined)
    throw new ReviewError(`roles.yaml declares no role \`${unknown}\`; --setup-role needs one that may create`)
  return openDeploymentArena(ground, asked, { url, setupRole, tokens: await tokensOf(asked) })
}

function tokensOf({ tokens, key, data, ...claims }: Whereabouts): Promise<TokenSource> {
  if (tokens !== undefined && key !== undefined)
    throw new ReviewError('--tokens and --key are both given; tokens come from one of them')
  if (tokens !== undefined) return readTokens(tokens)
  return readMint(key ?? join(data, 'keys', 'signing.jwk'), claims)
}
