/** Rules and questions for engines that decide, and the answer that each must give. */

/** One role's access to one action of one resource: to one's own objects, or to any. */
export interface EngineRule {
  readonly role: string
  readonly resource: string
  readonly action: string
  readonly own: boolean
}

export interface Question {
  readonly role: string
  readonly sub: string
  readonly resource: string
  readonly action: string
  /** Of the object. */
  readonly owner: string
}

export interface Engine {
  decide(question: Question): boolean | Promise<boolean>
  close?(): Promise<void>
}

/** Makes an engine that holds the rules. */
export type SetUp = (rules: readonly EngineRule[]) => Engine | Promise<Engine>

export interface Asked extends Question {
  readonly answer: boolean
}

/** A member may do these with its own, an admin with any. */
const GRANTS = [
  { role: 'member', action: 'read', own: true },
  { role: 'member', action: 'update', own: true },
  { role: 'member', action: 'delete', own: true },
  { role: 'admin', action: 'read', own: false },
  { role: 'admin', action: 'update', own: false },
]

const QUESTIONS = 64

/** First a member's and an admin's rules on every resource; then further pairs of roles, until there are enough. */
export function makeRules(count: number, resources: number): readonly EngineRule[] {
  return Array.from({ length: count }, (_, i) => {
    const { role, action, own } = GRANTS[i % GRANTS.length] ?? { role: '', action: '', own: true }
    const nth = Math.floor(i / GRANTS.length)
    const team = Math.floor(nth / resources)
    return { role: team === 0 ? role : `${role}${team}`, resource: `thing${nth % resources}`, action, own }
  })
}

/** Spread evenly over the resources, asked by a member and an admin. */
export function makeQuestions(rules: readonly EngineRule[]): readonly Asked[] {
  const resources = [...new Set(rules.map(({ resource }) => resource))]
  return Array.from({ length: QUESTIONS }, (_, i) => {
    const resource = resources[Math.floor(((i + 0.5) / QUESTIONS) * resources.length)] ?? ''
    const [role, sub] = i % 4 === 0 ? ['admin', 'u0'] : ['member', 'u7']
    const action = ['read', 'update', 'delete'][i % 3] ?? ''
    const question = { role, sub, resource, action, owner: i % 2 === 0 ? 'u8' : sub }
    return { ...question, answer: rules.some((rule) => isAllowed(rule, question)) }
  })
}

function isAllowed(rule: EngineRule, { role, sub, resource, action, owner }: Question): boolean {
  const fits = rule.role === role && rule.resource === resource && rule.action === action
  return fits && (!rule.own || owner === sub)
}
