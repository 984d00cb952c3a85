/** A policy of one resource at three levels of power, each with two files of approvals: small, so judged in milliseconds. */
import { readFile } from 'node:fs/promises'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'
import type { PolicyContent } from '../../src/tools/release/content.ts'
import { approvalsText, type Name, type People } from './people.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export interface SmallPolicy {
  /** More may be done at a higher level. */
  readonly level: number
  /** 0: two of security for what widens or touches approvals.yaml. 1: one person, whoever, for anything. */
  readonly approvals: number
}

const RULES = [
  'p, member, notes, create|read, owner, *, allow',
  'p, member, notes, list, owner, *, allow',
  'p, everyone, notes, read, any, *, allow',
]

export const SMALL_POLICIES: readonly SmallPolicy[] = [0, 1, 2].flatMap((level) =>
  [0, 1].map((approvals) => ({ level, approvals })),
)

export class SmallPolicies {
  readonly resources: Resources
  readonly #model: string
  readonly #people: People

  private constructor(people: People, model: string, schema: string) {
    this.#people = people
    this.#model = model
    this.resources = parseResources([{ name: 'notes.json', text: schema }])
  }

  static async make(people: People): Promise<SmallPolicies> {
    const [model, schema] = await Promise.all(
      ['policies/model.conf', 'schemas/notes.json'].map((name) => readFile(ROOT + name, 'utf8')),
    )
    return new SmallPolicies(people, model ?? '', schema ?? '')
  }

  contentOf({ level, approvals }: SmallPolicy): PolicyContent {
    const touches = '  touches: [{ file: [approvals.yaml], people: 2, from: [security] }]\n'
    const needs = [
      `needs:\n  widens: { people: 2, from: [security] }\n  narrows: { people: 1 }\n${touches}`,
      'needs:\n  widens: { people: 1 }\n',
    ]
    const texts = {
      'model.conf': this.#model,
      'policy.csv': `${RULES.slice(0, level + 1).join('\n')}\n# end of policy\n`,
      'roles.yaml': 'member: { description: Writes notes. }\n',
      'ownership.yaml': 'notes:\n  relations:\n    owner: ownerId\n',
      'views.yaml': 'notes: {}\n',
      'limits.yaml': 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n',
      'approvals.yaml': approvalsText(this.#people, needs[approvals]),
    }
    return new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]))
  }
}

const SECURITY: readonly Name[] = ['ada', 'zoe', 'tim']

/** Whether these people are enough, by the words of the file: counted here anew. */
export function areEnough(
  before: SmallPolicy,
  after: SmallPolicy,
  author: Name,
  approvers: ReadonlySet<Name>,
): boolean {
  const others = [...approvers].filter((name) => name !== author)
  const touched = before.approvals !== after.approvals
  const wider = after.level > before.level || touched
  const narrower = after.level < before.level
  if (before.approvals === 1) return !(wider || narrower) || others.length >= 1
  const security = others.filter((name) => SECURITY.includes(name))
  return (!wider || security.length >= 2) && (!narrower || others.length >= 1)
}
