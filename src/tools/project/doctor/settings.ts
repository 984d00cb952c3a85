/** The settings: each faulty one is reported, and the others still count, so that the other checks can go on. */

import type { Environment } from '../../../base/command-process.ts'
import { didYouMean } from '../../../base/did-you-mean.ts'
import { type Checked, faulted, passed, warned } from '../../../base/problems/checked.ts'
import { AGAIN } from '../../../base/problems/fix.ts'
import { type Config, type Flags, readConfig } from '../../../config/config.ts'
import { fixOf } from '../../../config/fix-of.ts'
import { readEnvFile } from '../../../config/start/env-file.ts'
import { OPENID_NAMES } from '../../../identity/tokens/openid-settings.ts'

const CHECK = 'settings'
/** Short names have many neighbours: HOME is not HOST. */
const SHORTEST = 6

export interface ReadSettings {
  readonly config: Config
  readonly checks: readonly Checked[]
  /** The settings that were left out. */
  readonly faulty: ReadonlySet<string>
}

export function readSettings(environment: Environment, flags: Flags): ReadSettings {
  const left: Record<string, string | undefined> = { ...environment }
  const leftFlags: Record<string, unknown> = { ...flags }
  const faults = new Map<string, Checked>()
  for (;;) {
    try {
      const config = readConfig(left, leftFlags)
      const checks = [...orPassed([...faults.values(), ...strangers(environment)]), ...fromFile(environment)]
      return { config, checks, faulty: new Set(faults.keys()) }
    } catch (error) {
      const name = nameIn(error as Error)
      if (name === undefined || faults.has(name)) throw error
      faults.set(name, faulted(CHECK, (error as Error).message, fixOf(error)))
      delete left[name]
      delete leftFlags[name.toLowerCase()]
    }
  }
}

/** The sentence about a setting begins with its name, or its flag's. */
function nameIn({ message }: Error): string | undefined {
  return /^(?:--)?([A-Za-z_]+) /.exec(message)?.[1]?.toUpperCase()
}

function orPassed(found: readonly Checked[]): readonly Checked[] {
  return found.length > 0 ? found : [passed(CHECK, 'each setting has a value that it may have')]
}

function fromFile(environment: Environment): readonly Checked[] {
  try {
    return namedSettings(readEnvFile('.'), environment)
  } catch (error) {
    return [faulted(CHECK, (error as Error).message, fixOf(error))]
  }
}

/** Which settings `.env` has, without their values. */
function namedSettings(file: Readonly<Record<string, string>>, environment: Environment): readonly Checked[] {
  const known = settingNames()
  const names = Object.keys(file).filter((name) => known.has(name))
  const wins = (name: string) => environment[name] === file[name]
  const groups = [
    ['`.env` sets', names.filter(wins)],
    ['the environment has other values than `.env` for', names.filter((name) => !wins(name))],
  ] as const
  return groups.flatMap(([words, some]) => {
    return some.length === 0 ? [] : passed(CHECK, `${words} ${some.toSorted().join(', ')}`)
  })
}

/** Variables that look like a setting with a slip of the hand. */
function strangers(environment: Environment): readonly Checked[] {
  const known = settingNames()
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || name.length < SHORTEST || !/^[A-Z_]+$/.test(name)) return []
    const meant = didYouMean(name, known)
    return meant === '' ? [] : [warned(CHECK, `${name} is not a setting${meant}`, `env -u ${name} ${AGAIN}`)]
  })
}

function settingNames(): ReadonlySet<string> {
  // Most of these are read only beside OIDC_ISSUER.
  const read = new Set<string>(OPENID_NAMES)
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  return read
}
