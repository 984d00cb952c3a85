/** What it costs to find whom a change asks: one parsing and one comparison, which the log line of the change shares. */
import { expect } from 'chai'
import { changedPolicy } from '../../src/analysis/approvals/changed-policy.ts'
import { needsOf } from '../../src/analysis/approvals/needs.ts'
import type { PolicySources } from '../../src/policy/live/active-policy.ts'
import { summarize } from '../../src/server/policy-changes/summary.ts'
import { RESOURCES } from '../policy/fixture.ts'
import { filesOf } from '../policy/render.ts'
import { askingFor, groupsOf } from './asking.ts'

const RULES = 4000
const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'delete']
const APPROVALS = askingFor(['docs', 'jobs'])

function sources(number: number, ...more: readonly string[]): PolicySources {
  const rules = Array.from({ length: RULES }, (_, i) => {
    const subject = i % 3 === 0 ? `user:u${(i * 7) % 500}` : `role${(i * 11) % 50}`
    const [resource, action] = [i % 2 === 0 ? 'docs' : 'jobs', ACTIONS[(i * 13) % 6]]
    return `p, ${subject}, ${resource}, ${action}, any, *, ${i % 4 === 3 ? 'deny' : 'allow'}`
  })
  const roles = Array.from({ length: 50 }, (_, i) => `role${i}: { description: A }\n`)
  const files = filesOf({
    'policy.csv': [...rules, ...more, `# ${number}`, ''].join('\n'),
    'roles.yaml': roles.join(''),
    'approvals.yaml': APPROVALS,
  })
  return { files, blocked: { name: 'blocked.txt', text: '' } }
}

/** Milliseconds of CPU time. */
function cpuOf(run: () => void): number {
  const { user, system } = process.cpuUsage()
  run()
  const later = process.cpuUsage()
  return (later.user - user + later.system - system) / 1000
}

const asked = (before: PolicySources, after: PolicySources) => {
  const [old, now] = [before, after].map(({ files, blocked }) => changedPolicy(files, blocked, RESOURCES))
  if (!old || !now) throw new Error('a version is missing')
  return groupsOf(needsOf({ before: old, after: now }, RESOURCES))
}

/** The number makes texts that were not parsed before. */
let number = 0

describe(`under ${RULES} rules`, () => {
  it('a change that was judged is told of without another comparison', () => {
    const ratios = Array.from({ length: 3 }, () => {
      const [before, after] = [sources(++number), sources(number, 'p, role7, *, *, any, *, deny')]
      const judging = cpuOf(() => expect(asked(before, after)).to.include('narrows'))
      const again = structuredClone({ before, after })
      const telling = cpuOf(() => {
        expect(summarize(again, { resources: RESOURCES, now: Date.now() }).counts.narrowing).to.be.greaterThan(0)
      })
      return telling / judging
    })
    expect(Math.min(...ratios)).to.be.lessThan(0.3)
  })

  it('a change that only blocks users asks for no look at the rules', () => {
    const [before, after] = [sources(++number), sources(number)]
    const broken = { ...after, blocked: { name: 'blocked.txt', text: 'user:eve\n' } }
    const unread = changedPolicy(before.files, broken.blocked, RESOURCES)
    Object.defineProperty(unread, 'policy', { get: () => expect.fail('the rules are parsed') })
    const old = { ...before, blockedFile: before.blocked, blocked: new Map(), policy: unread }
    Object.defineProperty(old, 'policy', { get: () => expect.fail('the rules are parsed') })
    expect(groupsOf(needsOf({ before: old as never, after: unread }, RESOURCES))).to.deep.equal(['blocks'])
  })
})
