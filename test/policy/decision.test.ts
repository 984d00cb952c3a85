/** Decisions that are easily made wrongly, one by one. The random tests of permits.test.ts hold the rest. */
import { expect } from 'chai'
import { decideOnObject } from '../../src/decide/decide.ts'
import { CreateDecision } from '../../src/decide/decision.ts'
import type { CallerGrants } from '../../src/decide/grants/caller-grants.ts'
import type { Proposal } from '../../src/decide/permits/issue-permits.ts'
import { isRefusal } from '../../src/decide/refusal.ts'
import { DOCS } from './fixture.ts'
import { grantsOf, settled, snapshotOf, storedOf } from './product.ts'
import { filesOf } from './render.ts'
import type { OracleCaller, Plain } from './world.ts'

const VIEWS = 'docs:\n  open: [id, status]\n  plain: [id, ownerId, status]\n  hidden: [secret]\n'
const OWNERSHIP = `docs:
  relations:
    owner: ownerId
    colleague: { field: team, equals: subject.team }
    draft: { field: status, in: [draft] }
`
const ALICE: OracleCaller = { id: 'alice', roles: [], claims: { team: 'red' } }
const DRAFT: Plain = {
  id: 'o1',
  createdAt: 'x',
  updatedAt: 'x',
  ownerId: 'alice',
  status: 'draft',
  team: 'red',
  secret: 's',
}

async function grantsFor(action: string, ...lines: readonly string[]) {
  const files = filesOf({ 'policy.csv': lines.join('\n'), 'views.yaml': VIEWS, 'ownership.yaml': OWNERSHIP })
  return grantsOf(snapshotOf(files), ALICE, DOCS, action)
}

/** The fields refused; `granted` when none is, `denied` when the action is, `unfit` when the schema refuses. */
function outcomeOf(result: unknown): string {
  if (!isRefusal(result)) return 'granted'
  if (result.check === 'schema') return 'unfit'
  return result.evidence?.fieldsRefused.join() || `denied${result.check === 'concealed' ? ', concealed' : ''}`
}

/** As the schema does, which knows no other fields. */
function proposalOf(after: Plain, named: readonly string[]): Proposal {
  const unknown = Object.keys(after).filter((name) => !DOCS.fields.has(name))
  const faults = () => unknown.map((name) => ({ pointer: `/${name}`, detail: 'is not a known field', code: 'unknown' }))
  return { after, named: new Set(named), faults }
}

async function update(stored: Plain, changes: Plain, ...lines: readonly string[]): Promise<string> {
  const grants = await grantsFor('update', ...lines)
  const proposal = proposalOf({ ...stored, ...changes }, Object.keys(changes))
  const decision = settled(decideOnObject(grants, 'update', storedOf(stored)))
  if (isRefusal(decision)) return outcomeOf(decision)
  if (decision.kind !== 'update') throw new Error('an update is decided as one')
  return outcomeOf(settled(decision.permit(proposal)))
}

describe('an update', () => {
  const ownDrafts = 'p, everyone, docs, update, owner+draft, *, allow'

  it('may place a draft: the state counts as it is stored', async () => {
    expect(await update(DRAFT, { status: 'placed' }, ownDrafts)).to.equal('granted')
    expect(await update({ ...DRAFT, status: 'placed' }, { status: 'draft' }, ownDrafts)).to.equal('denied')
  })

  it('may not give the object away, nor take it', async () => {
    expect(await update(DRAFT, { ownerId: 'bob' }, ownDrafts)).to.equal('denied')
    expect(await update({ ...DRAFT, ownerId: 'bob' }, { ownerId: 'alice' }, ownDrafts)).to.equal('denied')
  })

  it('may write only what is granted before and after', async () => {
    const lines = ['p, everyone, docs, update, owner, *, allow', 'p, everyone, docs, update, any, plain, allow']
    expect(await update(DRAFT, { ownerId: 'bob' }, ...lines)).to.equal('granted')
    expect(await update(DRAFT, { ownerId: 'bob', secret: 't' }, ...lines)).to.equal('secret')
    expect(await update({ ...DRAFT, ownerId: 'bob' }, { ownerId: 'alice', secret: 't' }, ...lines)).to.equal('secret')
    expect(await update(DRAFT, { secret: 't' }, ...lines)).to.equal('granted')
  })

  it('tells nothing of a field that can neither be read nor written, whatever its value', async () => {
    const line = 'p, everyone, docs, update, any, plain, allow'
    expect(await update(DRAFT, { secret: 's' }, line)).to.equal('secret')
    expect(await update(DRAFT, { secret: 'wrong' }, line)).to.equal('secret')
    expect(await update(DRAFT, { secret: 's' }, line, 'p, everyone, docs, read, any, hidden, allow')).to.equal(
      'granted',
    )
    const away = ['p, everyone, docs, update, owner, *, allow', line]
    expect(await update(DRAFT, { ownerId: 'bob', secret: 's' }, ...away)).to.equal('secret')
    expect(await update(DRAFT, { ownerId: 'bob', secret: 'wrong' }, ...away)).to.equal('secret')
  })

  it('leaves a field that no schema has, and `__proto__`, to the schema, which is asked last', async () => {
    const line = 'p, everyone, docs, update, any, plain, allow'
    expect(await update(DRAFT, { admin: true }, line)).to.equal('unfit')
    expect(await update(DRAFT, JSON.parse('{"__proto__": {"a": 1}}'), line)).to.equal('unfit')
    expect(await update(DRAFT, { admin: true, secret: 'wrong' }, line)).to.equal('secret')
    expect(await update(DRAFT, { admin: true }, 'p, everyone, docs, update, draft, plain, deny', line)).to.equal(
      'denied',
    )
  })

  it('takes null and absent, and values that are equal only loosely, for changes', async () => {
    const line = 'p, everyone, docs, update, any, open, allow'
    expect(await update(DRAFT, { team: null }, line)).to.equal('team')
    expect(await update({ ...DRAFT, extra: { a: [1, { b: null }] } }, { extra: { a: [1, {}] } }, line)).to.equal(
      'extra',
    )
    expect(await update({ ...DRAFT, count: 1 }, { count: '1' }, line)).to.equal('count')
  })
})

describe('a create', () => {
  it('is for the owner that the object would have, with fields that are granted', async () => {
    const grants = await grantsFor('create', 'p, everyone, docs, create, owner, plain, allow')
    const create = (after: Plain, ...named: readonly string[]) =>
      outcomeOf(settled(new CreateDecision(grants).permit(proposalOf(after, named))))
    expect(create(DRAFT, 'status')).to.equal('granted')
    expect(create(DRAFT, 'status', 'secret', 'team')).to.equal('secret,team')
    expect(create({ ...DRAFT, admin: true }, 'status', 'admin')).to.equal('unfit')
    expect(create({ ...DRAFT, admin: true }, 'secret', 'admin')).to.equal('secret')
    expect(create({ ...DRAFT, ownerId: 'bob' }, 'status')).to.equal('denied')
    expect(create({ ...DRAFT, ownerId: null }, 'status')).to.equal('denied')
  })
})

describe('an object that is concealed', () => {
  it('is so for who may not read it, and only then', async () => {
    const lines = ['p, everyone, docs, read, owner, open, allow', 'p, everyone, docs, delete, draft, *, allow']
    const others = storedOf({ ...DRAFT, ownerId: 'bob', status: 'placed' })
    const own = storedOf({ ...DRAFT, status: 'placed' })
    const reading = concealing(await grantsFor('read', ...lines))
    const deleting = concealing(await grantsFor('delete', ...lines))
    expect(outcomeOf(settled(decideOnObject(reading, 'read', others)))).to.equal('denied, concealed')
    expect(outcomeOf(settled(decideOnObject(deleting, 'delete', others)))).to.equal('denied, concealed')
    expect(outcomeOf(settled(decideOnObject(deleting, 'delete', own)))).to.equal('denied')
    expect(outcomeOf(settled(decideOnObject({ ...reading, view: new Set(['secret']) }, 'read', own)))).to.equal(
      'denied',
    )
  })
})

function concealing(grants: CallerGrants): CallerGrants {
  return { ...grants, ownership: { relations: grants.ownership?.relations ?? new Map(), conceal: true } }
}
