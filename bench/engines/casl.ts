/** CASL with each role's ability made once and kept: the quickest way to use it. Its package is the peers'. */
import { loadPeerPackage } from '../machine/peer-packages.ts'
import type { Engine, EngineRule } from './questions.ts'

/** What is used of @casl/ability. */
interface Casl {
  createMongoAbility(rules: readonly object[]): { can(action: string, subject: object): boolean }
  subject(type: string, object: object): object
}

export async function setUpCasl(rules: readonly EngineRule[]): Promise<Engine> {
  const { createMongoAbility, subject } = (await loadPeerPackage('@casl/ability')) as Casl
  const abilityOf = (role: string, sub: string) =>
    createMongoAbility(rules.filter((rule) => rule.role === role).map((rule) => toCasl(rule, sub)))
  const kept = new Map([
    ['member', abilityOf('member', 'u7')],
    ['admin', abilityOf('admin', 'u0')],
  ])
  return {
    decide: ({ role, resource, action, owner }) => kept.get(role)?.can(action, subject(resource, { owner })) ?? false,
  }
}

function toCasl({ resource, action, own }: EngineRule, sub: string): object {
  return { action, subject: resource, ...(own ? { conditions: { owner: sub } } : {}) }
}
