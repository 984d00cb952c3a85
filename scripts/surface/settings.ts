/** Settings of the server with their defaults; problems, findings and reasons with their codes; layouts of the store. */
import { CATALOGUE } from '../../src/base/problems/catalogue.ts'
import { readConfig } from '../../src/config/config.ts'
import { DENIAL_REASONS } from '../../src/server/authzen/trust.ts'
import { LAYOUTS } from '../../src/store/sql/tables.ts'
import { codesExplained } from '../../src/tools/check/catalogue.ts'
import type { Members } from './members.ts'

export function settingMembers(): Members {
  const read = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  const { instance: _, ...defaults } = readConfig({})
  const named = [...read, ...providerSettings()]
  return [
    ...[...new Set(named)].map((name) => [`setting ${name}`, ''] as const),
    ...leaves('setting default', defaults),
  ]
}

/** A refusal lists them. */
function providerSettings(): readonly string[] {
  try {
    readConfig({ OIDC_X: 'x' })
    return []
  } catch (error) {
    return /use one of (.*)/.exec((error as Error).message)?.[1]?.split(', ') ?? []
  }
}

function leaves(name: string, value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [[name, JSON.stringify(value) ?? 'none']]
  return Object.entries(value).flatMap(([key, part]) => leaves(`${name} ${key}`, part))
}

export function codeMembers(): Members {
  const layouts = Object.entries(LAYOUTS.at(-1)?.layouts ?? {})
  return [
    ...Object.entries(CATALOGUE).map(([code, { status }]) => [`problem ${code}`, String(status)] as const),
    ...codesExplained().map(({ code, severity }) => [`finding ${code}`, severity] as const),
    ...Object.keys(DENIAL_REASONS).map((reason) => [`reason ${reason}`, ''] as const),
    ...layouts.map(([engine, layout]) => [`layout ${engine}`, String(layout)] as const),
  ]
}
