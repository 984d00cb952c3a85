/** A guarantee about who may update a field is also about commands whose own grant is enough to set it. */
import { expect } from 'chai'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { policyFiles, shipped } from '../../openapi/fixture.ts'
import { COMMANDING } from '../../request/commanding-world.ts'

const said = (never: string) => `- name: kept\n  never: ${never}\n`

/** `jobs` with its commands, whose `hold` sets `state`; support and auditors may run it, and may not update. */
function answerTo(
  guarantee: string,
  hold: Readonly<Record<string, unknown>> = { grants: 'steps' },
  rules = COMMANDING['policies/policy.csv'] ?? '',
) {
  const declared = JSON.parse(COMMANDING['schemas/commands/hold.json'] ?? '')
  const { grants: _, ...without } = declared
  return answerIn({
    ...needingRights('log', 'leak'),
    'schemas/commands/hold.json': JSON.stringify({ ...without, ...hold }),
    'policies/policy.csv': rules,
    'policies/guarantees.yaml': guarantee,
  })
}

/** Without `grants: steps` in these commands. */
function needingRights(...names: readonly string[]): Readonly<Record<string, string>> {
  const changed = names.map((name) => {
    const file = `schemas/commands/${name}.json`
    const { grants: _, ...rest } = JSON.parse(COMMANDING[file] ?? '')
    return [file, JSON.stringify(rest)] as const
  })
  return { ...COMMANDING, ...Object.fromEntries(changed) }
}

function answerIn(files: Readonly<Record<string, string>>) {
  const { resources } = shipped(files)
  const policy = parsePolicy(policyFiles(files), resources)
  const [first] = policy.guarantees
  if (!first) throw new Error('there is no guarantee')
  return new Prover(policy, resources, Date.parse('2026-06-01T00:00:00Z')).answer(first)
}

describe('a guarantee about updates of a field', () => {
  const state = '{ subjects: { except: [admin] }, resource: jobs, actions: [update], fields: [state], unless: owner }'

  it('is broken by the grant of a command with `grants: steps` that sets the field', () => {
    const answer = answerTo(said(state))
    expect(answer.kind).to.equal('broken')
    const [first] = answer.kind === 'broken' ? [...answer.breaks().take(1)] : []
    expect(first?.acts[0].action.name).to.equal('hold')
    expect(
      answerTo(said('{ subjects: { except: [admin] }, resource: jobs, actions: [update], unless: owner }')).kind,
    ).to.equal('broken')
  })

  it('is proven where the command needs the right of its steps, or sets another field', () => {
    expect(answerTo(said(state), {}).kind).to.equal('proven')
    expect(answerTo(said(state), { grants: 'steps', set: { note: { value: 'held' } } }).kind).to.equal('proven')
    expect(answerTo(said(state.replace('[state]', '[by]'))).kind).to.equal('proven')
  })

  it('holds of who may not set the field by the command: its rule names another one', () => {
    expect(answerTo(said(state.replace('[admin]', '[admin, support]'))).kind).to.equal('proven')
  })

  it('is a promise about both rights where it says who can always run a command', () => {
    const all = COMMANDING['policies/policy.csv'] ?? ''
    const always = (who: string, action: string, rules = all) => {
      const said = `- name: kept\n  always: { subjects: [${who}], resource: jobs, actions: [${action}] }\n`
      return answerTo(said, { grants: 'steps' }, rules).kind
    }
    expect(always('support', 'hold')).to.equal('proven')
    expect(always('admin', 'reopen', all.replace(/^p, auditor, .*deny$/m, ''))).to.equal('proven')
    // The deny for auditors names `update` alone.
    expect(always('admin', 'reopen')).to.equal('broken')
    // The action is granted to support on every job, and `update` on none.
    expect(always('support', 'finish')).to.equal('broken')
    // The rule grants another field than the command sets.
    expect(always('auditor', 'hold')).to.equal('broken')
  })

  it('keeps two acts apart, of which one is the command', () => {
    const both = '[{ resource: jobs, actions: [read] }, { resource: jobs, actions: [update], fields: [note] }]'
    const apart = (subjects: string) =>
      `- name: kept\n  apart: ${both.replaceAll('resource:', `subjects: [${subjects}], resource:`)}\n`
    const set = { note: { value: 'held' } }
    expect(answerTo(apart('auditor'), { set, grants: 'steps' }).kind).to.equal('broken')
    expect(answerTo(apart('auditor'), { set }).kind).to.equal('proven')
  })
})

describe('a guarantee about who creates objects', () => {
  const never = (more: string) => `- name: kept\n  never: { resource: events, actions: [create], ${more} }\n`
  const answerFor = (guarantee: string, ...needing: readonly string[]) =>
    answerIn({ ...needingRights('leak', ...needing), 'policies/guarantees.yaml': guarantee })

  it('is broken by the grant of a command with `grants: steps` that creates one', () => {
    const answer = answerFor(never('subjects: [auditor]'))
    expect(answer.kind).to.equal('broken')
    const [first] = answer.kind === 'broken' ? [...answer.breaks().take(1)] : []
    expect(first?.acts[0].action.name).to.equal('log')
    expect(answerFor(never('subjects: [auditor], fields: [what]')).kind).to.equal('broken')
  })

  it('is proven where the command needs the right to create it, or gives no field of the guarantee', () => {
    expect(answerFor(never('subjects: [auditor]'), 'log').kind).to.equal('proven')
    expect(answerFor(never('subjects: [auditor], fields: [number]')).kind).to.equal('proven')
  })

  it('is undecided for two acts of one caller, and for who can always run a command that creates', () => {
    const acts = '[{ resource: events, actions: [create] }, { resource: events, actions: [read] }]'
    const apart = answerFor(`- name: kept\n  apart: ${acts}\n`)
    expect(apart).to.include({ kind: 'undecided' })
    expect('why' in apart && apart.why).to.include('the command `log` also creates objects of `events`')
    const always = '- name: kept\n  always: { subjects: [admin], resource: jobs, actions: [hand-over] }\n'
    expect(answerFor(always).kind).to.equal('undecided')
  })
})
