/** What Casbin does with a model and without rules, and that here no other model than the shipped one is ever in force. */
import { readFileSync } from 'node:fs'
import { newCachedEnforcer, newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import { expect } from 'chai'
import { createEnforcer } from '../../src/decide/casbin/casbin.ts'
import { MODEL } from '../../src/decide/casbin/model.ts'
import { casbin, RBAC, withMatcher } from './casbin-as-is.ts'
import { faultsOf } from './diagnostics.ts'
import { DOCS } from './fixture.ts'
import { snapshotOf, tableOf } from './product.ts'
import { filesOf, SHIPPED_MODEL } from './render.ts'

const SOURCE = readFileSync(new URL('../../src/decide/casbin/casbin.ts', import.meta.url), 'utf8')
const ALLOW = 'p, member, docs, read, allow'

const lines = SHIPPED_MODEL.split('\n')
/** Line of the shipped model that begins so, from 1. */
const lineOf = (start: string) => lines.findIndex((line) => line.startsWith(start)) + 1
const faultsOfModel = (model: string) => faultsOf({ 'model.conf': model })

async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => value,
    (error: unknown) => error,
  )
}

describe('a model', () => {
  it('is sound as shipped, whatever its comments, spaces and line ends', () => {
    expect(faultsOfModel(SHIPPED_MODEL)).to.deep.equal([])
    expect(
      faultsOfModel(`# mine\r\n\r\n${SHIPPED_MODEL.replaceAll(' = ', '  =  ').replaceAll('\n', '\r\n')}`),
    ).to.deep.equal([])
  })

  it('without `eft` makes a deny an allow in Casbin; here it is refused', async () => {
    const allowOnly = RBAC.replace('act, eft', 'act').replace(/^e = .*$/m, 'e = some(where (p.eft == allow))')
    const enforcer = await casbin(allowOnly, 'p, member, docs, read, deny')
    expect(await enforcer.enforce('member', 'docs', 'read')).to.equal(true)
    expect(faultsOfModel(SHIPPED_MODEL.replace('fields, eft', 'fields'))).to.deep.equal([
      `model.conf:${lineOf('p = ')}:1 model-changed`,
    ])
  })

  it('is cut in Casbin at `#` or `;` inside a string; here it is refused', async () => {
    const enforcer = await casbin(withMatcher('r.sub == p.sub && r.obj == p.obj # && r.act == p.act'), ALLOW)
    expect(await enforcer.enforce('member', 'docs', 'delete')).to.equal(true)
    for (const mark of ['#', ';']) {
      const changed = SHIPPED_MODEL.replace('&& fits(', `&& r.sub != "a${mark}b" && fits(`)
      expect(faultsOfModel(changed)).to.deep.equal([`model.conf:${lineOf('m = ')}:1 model-changed`])
    }
  })

  it('has its error on another line in Casbin when lines are blank; here on the right one', () => {
    const broken = `\n\n\n[request_definition]\nnonsense\n`
    expect(() => newModelFromString(broken)).to.throw('line 2')
    expect(faultsOfModel(broken)).to.deep.equal(['model.conf:5:1 model-changed'])
  })

  it('with an unknown function loads in Casbin, and throws at the first request; here it is refused', async () => {
    const enforcer = await casbin(withMatcher('surely(r.sub, p.sub)'), ALLOW)
    expect(await outcomeOf(enforcer.enforce('member', 'docs', 'read'))).to.be.instanceOf(Error)
    expect(faultsOfModel(SHIPPED_MODEL.replace('covers(', 'surely('))).to.deep.equal([
      `model.conf:${lineOf('m = ')}:1 model-changed`,
    ])
  })

  it('that lets an allow win, links no roles, or is cut short or continued is refused', () => {
    const end = lines.length
    const changed: Readonly<Record<string, string>> = {
      [SHIPPED_MODEL.replace(' && !some(where (p.eft == deny))', '')]: `model.conf:${lineOf('e = ')}:1`,
      [SHIPPED_MODEL.replace('g = _, _', 'g = _, _, _')]: `model.conf:${lineOf('g = ')}:1`,
      [SHIPPED_MODEL.replace(/^m = .*\n/m, '')]: `model.conf:${end - 1}:1`,
      [`${SHIPPED_MODEL}m2 = true\n`]: `model.conf:${end}:1`,
      '': 'model.conf:1:1',
    }
    for (const [model, place] of Object.entries(changed)) {
      expect(faultsOfModel(model)).to.deep.equal([`${place} model-changed`])
    }
  })

  it('is in force as shipped: no text of model.conf reaches Casbin', () => {
    const statements = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(statements(MODEL)).to.deep.equal(statements(SHIPPED_MODEL))
  })
})

describe('an empty policy', () => {
  it('allows the empty request in Casbin; here it denies everything', async () => {
    const empty = await newEnforcer(newModelFromString(RBAC))
    expect(await empty.enforce('', '', '')).to.equal(true)
    const ask = await createEnforcer([], [], new Map())
    expect(ask({ subject: '', resource: '', action: '', held: { stored: [] }, field: '' })).to.equal(false)
    const table = await tableOf(snapshotOf(filesOf({})), { roles: [], claims: {} }, DOCS, 'read')
    expect([
      table.roleLevel(() => true).allowed,
      table.grant([]).fields.size,
      table.where({ valuesOf: () => [], now: 0 }, [], undefined).kind,
    ]).to.deep.equal([false, 0, 'never'])
  })
})

describe('a switch of Casbin that decides otherwise', () => {
  it('is `enableEnforce(false)`, which allows everything, and `enforceEx`, whose answer then is no tuple', async () => {
    const enforcer = await casbin(RBAC, ALLOW)
    expect(await enforcer.enforceEx('nobody', 'docs', 'read')).to.deep.equal([false, []])
    enforcer.enableEnforce(false)
    expect(await enforcer.enforce('nobody', 'docs', 'read')).to.equal(true)
    expect(await enforcer.enforceEx('nobody', 'docs', 'read')).to.equal(true)
  })

  it('is the cached enforcer, whose keys collide into a wrong allow', async () => {
    const model = withMatcher('r.sub == p.sub && r.obj == p.obj && r.act == p.act')
    const enforcer = await newCachedEnforcer(newModelFromString(model), new StringAdapter('p, a$$b, c, d, allow'))
    expect(await enforcer.enforce('a', 'b$$c', 'd')).to.equal(false)
    enforcer.invalidateCache()
    expect(await enforcer.enforce('a$$b', 'c', 'd')).to.equal(true)
    expect(await enforcer.enforce('a', 'b$$c', 'd'), 'the answer to the other question').to.equal(true)
  })

  it('is never used: the one file that knows Casbin names none of them', () => {
    const traps =
      /enableEnforce|enforceEx|CachedEnforcer|SyncedEnforcer|keyMatch|regexMatch|ipMatch|enableAcceptJson|StringAdapter|FileAdapter/
    expect(SOURCE).not.to.match(traps)
    expect('enforcer.enableEnforce(false)').to.match(traps)
  })
})
