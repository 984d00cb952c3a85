/** Words of policy.csv that other products use are told with the word that is meant here. */
import { expect } from 'chai'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

const RELATIONS = 'docs: { relations: { owner: ownerId, draft: { field: status, in: [draft] } } }\n'

const faultsOf = (files: Parameters<typeof filesOf>[0]) => {
  try {
    parsePolicy(filesOf({ 'policy.csv': '', ...files }), RESOURCES)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

const faultOf = (action: string, relation = 'any', end = '') => {
  const rule = `p, everyone, docs, ${action}, ${relation}, *, allow${end}\n`
  try {
    parsePolicy(filesOf({ 'policy.csv': rule, 'ownership.yaml': RELATIONS }), RESOURCES)
    return 'sound'
  } catch (error) {
    return (error as Error).message
  }
}

describe('a word of another product in a rule', () => {
  for (const [written, meant] of [
    ['GET', 'read'],
    ['get', 'read'],
    ['view', 'read'],
    ['POST', 'create'],
    ['PUT', 'replace'],
    ['edit', 'update'],
    ['PATCH', 'update'],
    ['remove', 'delete'],
    ['DELETE', 'delete'],
    ['raed', 'read'],
  ] as const) {
    it(`leads to the action that is meant: ${written}`, () => {
      expect(faultOf(written))
        .to.match(/^[^\n]*\[unknown-action\]$/)
        .and.include(`did you mean \`${meant}\`?`)
    })
  }

  it('leads to the action in limits.yaml and callers.yaml, too', () => {
    const limit = (match: string) =>
      `body: 1mb\npage: { default: 1, max: 2 }\nlimits: { a: { per: address, allow: 1, window: 1h, match: ${match} } }\n`
    const files = {
      'limits.yaml': limit('{ resource: docs, action: PATCH }'),
      'callers.yaml': 'reader: { actions: { docs: { look: GET } } }\n',
      'roles.yaml': 'reader: { description: A reader }\n',
    }
    const told = faultsOf(files)
    expect(told).to.have.length(2)
    expect(told.join('\n')).to.match(/`PATCH` is not known here .*did you mean `update`/)
    expect(told.join('\n')).to.match(/`GET` is not known here .*did you mean `read`/)
    const unknown = faultsOf({ ...files, 'callers.yaml': '', 'limits.yaml': limit('{ resource: dcos, action: read }') })
    expect(unknown).to.have.length(1)
    expect(unknown[0]).to.include('did you mean `docs`?')
  })

  it('leads to the word that is meant in each place of a guarantee, with its line and column', () => {
    const faults = (said: string) =>
      faultsOf({
        'policy.csv': 'p, member, docs, read, owner, *, allow\n',
        'roles.yaml': 'member: { description: A member }\nboss: { description: A boss }\n',
        'ownership.yaml': RELATIONS,
        'guarantees.yaml': `- name: a\n  ${said}\n`,
      })
    // At the word of a list, else at the name of the member.
    for (const [said, at, meant] of [
      ['never: { subjects: [membr], resource: docs, actions: [read] }', 'membr', 'member'],
      ['never: { subjects: { except: [membr] }, resource: docs, actions: [read] }', 'membr', 'member'],
      ['never: { resource: dcos, actions: [read] }', 'resource', 'docs'],
      ['never: { resource: docs, actions: [raed] }', 'raed', 'read'],
      ['never: { resource: docs, actions: [read], fields: [secrt] }', 'secrt', 'secret'],
      ['always: { resource: docs, actions: [read], when: onwer }', 'when', 'owner'],
      ['never: { resource: docs, actions: [update], unless: draft>onwer }', 'unless', 'owner'],
      ['apart: [{ resource: docs, actions: [read] }, { resource: docs, actions: [raed] }]', 'raed', 'read'],
      ['roles-apart: [membr, boss]', 'membr', 'member'],
      ['at-most: { role: bos, people: 1 }', 'role', 'boss'],
      ['ratchet: { resource: dcos, never: widen }', 'resource', 'docs'],
      ['nevr: { resource: docs, actions: [read] }', 'nevr', 'never'],
      ['ratchet: { resource: docs, never: widn }', 'never', 'widen'],
    ] as const) {
      const [only = '', ...more] = faults(said)
      expect(more, said).to.deep.equal([])
      expect(only, said)
        .to.include(`guarantees.yaml:2:${3 + said.indexOf(at)}: `)
        .and.include(`\`${meant}\``)
    }
    expect(faults('never: { resource: docs, actions: [read], unless: owner }')).to.deep.equal([])
  })

  it('leads to no action of another kind (negative control)', () => {
    expect(faultOf('xyzzy')).to.include('[unknown-action]').and.not.include('did you mean')
  })

  it('that joins relations with `|` leads to one line each', () => {
    expect(faultOf('read', 'owner|draft')).to.equal(
      'policy.csv:1:26: `|` joins no relations (write one line each: one with `owner` and one with `draft`) [relation-list]',
    )
    expect(faultOf('read', 'owner+draft')).to.equal('sound')
  })
})

describe('the end of a rule on a day that does not exist', () => {
  it('is told so', () => {
    const fault = faultOf('read', 'any', ', until=2027-02-30T00:00:00Z')
    expect(fault).to.include("`2027-02-30T00:00:00Z` names a day that doesn't exist")
    expect(faultOf('read', 'any', ', until=2027-02-30')).to.include("names a day that doesn't exist")
    expect(faultOf('read', 'any', ', until=2027-02-20')).to.include('is not a time with an offset')
    expect(faultOf('read', 'any', ', until=2027-02-28T00:00:00Z')).to.equal('sound')
  })
})
