/** Records of questions are replayed honestly: whether the service may ask is decided again, its questions are not. */
import { expect } from 'chai'
import { type Again, decideAgain } from '../../src/analysis/replay/decide-again.ts'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'

describe('a record of questions', () => {
  let server: TestServer
  let record: DecisionRecord
  let search: DecisionRecord
  let again: (rules: string, decided?: DecisionRecord) => Promise<Again>

  before(async () => {
    server = await startTestServer({ demo: true })
    const body = {
      subject: { type: 'user', id: 'alice' },
      action: { name: 'read' },
      resource: { type: 'users', id: 'alice' },
    }
    const token = await server.token('shop', 'pdp-client')
    await server.ask('POST', '/access/v1/evaluation', { token, body })
    record = (await server.lastDecision({ action: 'evaluate' })) as unknown as DecisionRecord
    await server.ask('POST', '/access/v1/search/action', { token, body })
    search = (await server.lastDecision({ action: 'search' })) as unknown as DecisionRecord
    const { resources, policy } = server.app
    const files = await readPolicyFiles(`${server.folder}/policies`)
    again = (rules, decided = record) => {
      const file = files['policy.csv']
      const policyFile = { ...file, text: withRules(file.text, rules) }
      const parsed = parsePolicy({ ...files, 'policy.csv': policyFile }, resources)
      const revision = rules === '' ? policy.active.revision : 'another'
      const snapshot = casbinPolicy(packPolicy(parsed), resources)
      const active = { ...policy.active, snapshot, revision } as ActivePolicy
      return decideAgain({ resources, policyAt: () => active }, decided)
    }
  })
  after(() => server.stop())

  it('is the same under the policy that decided it', async () => {
    for (const one of [record, search]) expect((await again('', one)).kind).to.equal('allowed')
  })

  it('is undecidable under another policy, and no difference', async () => {
    for (const one of [record, search]) {
      expect(await again('p, member, users, read, any, *, deny', one)).to.deep.equal({
        kind: 'undecidable',
        why: 'the questions of another service are not decided again',
      })
    }
  })

  it('is refused under a policy by which the service may not ask', async () => {
    expect((await again('p, pdp-client, system/access, evaluate, any, *, deny')).kind).to.equal('refused')
  })
})
