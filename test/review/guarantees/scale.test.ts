/** The shipped policy's guarantees are proved in a moment, and a hundred of a large policy in seconds of the processor's time. */
import { expect } from 'chai'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { readPolicyFiles } from '../../../src/policy/policy-files.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { ROOT } from '../../command.ts'
import { field, resource, SERVER, WITH_FIELDS, WITHOUT_FIELDS } from '../../policy/fixture.ts'
import { filesOf } from '../../policy/render.ts'
import { soak } from '../../runs.ts'

const GUARANTEES = 100

const SHIPPED = `- name: only its owner changes a note
  never: { resource: notes, actions: [create, replace, update, delete], unless: owner }
- name: orders move in steps
  never: { subjects: { except: [admin] }, resource: orders, actions: [replace, update], unless: draft>!shipped }
- name: support can always read orders
  always: { subjects: [support], resource: orders, actions: [list, read], fields: [status] }
- name: who places an order never ships it
  apart: [{ resource: orders, actions: [update], when: draft>placed }, { resource: orders, actions: [update], when: placed>shipped }]
`

describe('guarantees are answered', () => {
  it('in less than a second for the shipped policy', async () => {
    const resources = await loadResources(`${ROOT}schemas`)
    const files = await readPolicyFiles(`${ROOT}policies`)
    expect(
      secondsFor({ ...files, 'guarantees.yaml': { name: 'guarantees.yaml', text: SHIPPED } }, resources),
    ).to.be.lessThan(1)
  })

  const rules = soak(10_000, 1000)
  const many = rules / 20

  for (const [what, shape] of Object.entries({
    [`for ${rules} rules about ${many} resources`]: { resources: many, roles: 20 },
    [`for ${rules} rules of ${many} roles about 20 resources`]: { resources: 20, roles: many },
  })) {
    it(`in less than ten seconds ${what}, a hundred of them`, () => {
      const { files, resources } = large(shape)
      expect(secondsFor(files, resources)).to.be.lessThan(10)
    }).timeout(120_000)
  }
})

/** A rule for each role and resource; every seventh denies. */
function large({ resources: count, roles }: { readonly resources: number; readonly roles: number }) {
  const fields = [...SERVER, field('ownerId', 'string'), field('status', 'string'), field('note', 'string')]
  const names = Array.from({ length: count }, (_, i) => `r${i}`)
  const made = names.map((name) => resource(name, fields, [...WITH_FIELDS, ...WITHOUT_FIELDS]))
  const resources: Resources = { byName: new Map(made.map((one) => [one.name, one])), routes: [] }
  const relations = ['any', 'owner', 'owner+draft', 'draft', '!placed']
  const rules = Array.from({ length: roles }, (_, i) =>
    names.map((name, j) => {
      const relation = relations[(i * 3 + j) % relations.length]
      return `p, role${i}, ${name}, list|read|update, ${relation}, *, ${(i + j) % 7 === 0 ? 'deny' : 'allow'}`
    }),
  ).flat()
  const states = { draft: { field: 'status', in: ['draft'] }, placed: { field: 'status', in: ['placed'] } }
  const guarantees = Array.from({ length: GUARANTEES }, (_, i) => {
    const about = { resource: `r${i % count}`, actions: ['list', 'read', 'update'] }
    const claims = [
      { never: { ...about, subjects: { except: ['role0'] }, unless: 'owner' } },
      { never: { ...about, subjects: ['role1'], fields: ['note'], unless: 'draft' } },
      { always: { ...about, subjects: ['role2'], when: 'owner' } },
      {
        apart: [
          { ...about, when: '!owner+draft' },
          { ...about, actions: ['update'], when: 'owner>placed' },
        ],
      },
      {
        apart: [
          { ...about, subjects: ['role4'] },
          { ...about, when: 'owner+draft' },
        ],
        anywhere: true,
      },
    ]
    return { name: `guarantee ${i}`, ...claims[i % claims.length] }
  })
  const files = filesOf({
    'policy.csv': rules.join('\n'),
    'roles.yaml': JSON.stringify(
      Object.fromEntries(Array.from({ length: roles }, (_, i) => [`role${i}`, { description: 'A role.' }])),
    ),
    'ownership.yaml': JSON.stringify(
      Object.fromEntries(names.map((name) => [name, { relations: { owner: 'ownerId', ...states } }])),
    ),
    'views.yaml': '{}\n',
    'guarantees.yaml': JSON.stringify(guarantees),
  })
  return { files, resources }
}

/** Of the processor, for all guarantees. */
function secondsFor(files: Parameters<typeof parsePolicy>[0], resources: Resources): number {
  const policy = parsePolicy(files, resources)
  const before = process.cpuUsage()
  const prover = new Prover(policy, resources, Date.now())
  const answers = policy.guarantees.map((guarantee) => prover.answer(guarantee))
  // A start tells the first break of each.
  for (const answer of answers) if (answer.kind === 'broken') answer.breaks().next()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000_000
}
