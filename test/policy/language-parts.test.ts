/** What a parsed policy of the second edition tells of its rules and relations: terms, steps to other objects, conditions. */
import { expect } from 'chai'
import { namedConditions } from '../../src/analysis/possible-sets.ts'
import { stepsIn } from '../../src/decide/relations/all-kinds.ts'
import { termText } from '../../src/decide/rules/terms.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { LANGUAGE_RESOURCES, TASKS } from './language-fixture.ts'
import { filesOf } from './render.ts'

const POLICY = parsePolicy(
  filesOf({
    'policy.csv': 'p, everyone, tasks, update, office+!member, *, allow\np, everyone, tasks, read, fresh, *, allow\n',
    'ownership.yaml': `tasks: { relations: { member: { through: projectId, to: projects, relation: member } } }
projects: { relations: { member: { some: memberships, where: projectId, relation: self } } }
memberships: { relations: { self: userId } }
`,
    'conditions.yaml': 'office: { network: [192.0.2.0/24] }\nfresh: { signedIn: { within: 15m } }\n',
  }),
  LANGUAGE_RESOURCES,
)

describe('a policy of the second edition', () => {
  it('writes each of its terms as the file does', () => {
    expect(POLICY.rules[0]?.before.map(termText)).to.have.members(['office', '!member'])
  })

  it('knows each step from object to object', () => {
    const member = POLICY.ownership.get('tasks')?.relations.get('member')
    expect(member && stepsIn(member).map(({ resource }) => resource)).to.deep.equal(['projects', 'memberships'])
  })

  it('knows the conditions that rules about an action name', () => {
    expect(namedConditions(POLICY, TASKS, { name: 'update', hasFields: true })).to.deep.equal(['office'])
  })
})
