import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { compare } from '../../src/analysis/replay/compare.ts'
import { decideAgain } from '../../src/analysis/replay/decide-again.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import type { Policy } from '../../src/decide/policy.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles, Revision } from '../../src/policy/policy-files.ts'
import type { Resources } from '../../src/resources/resource.ts'
import type { LoadedPolicy } from '../../src/tools/load-policy.ts'
import { NeededParts, type Needs } from '../../src/tools/usage/needed-parts.ts'
import { type PolicyPart, policyParts } from '../../src/tools/usage/parts.ts'
import { randomAsked } from '../policy/arbitrary-language.ts'
import { generousPolicy } from '../policy/arbitrary-policy.ts'
import { filesOfWorld } from '../policy/language-product.ts'
import { render } from '../policy/render.ts'
import { live, randomRequest, WITH_ROUTES } from '../replay/live-decision.ts'
import { activeOf, serve } from '../replay/live-language.ts'
import { drawing, runs } from '../runs.ts'
import { filesWithout } from './without-part.ts'

type Seen = Map<string, number>
type Find = (record: DecisionRecord) => Promise<Needs>

function loadedOf(files: PolicyFiles, resources: Resources): LoadedPolicy {
  const blockedFile = { name: 'blocked.txt', text: '' }
  return { policy: parsePolicy(files, resources), blocked: new Map(), files, blockedFile }
}

function activeBy(files: PolicyFiles, resources: Resources, revision: string, now: number): ActivePolicy {
  const snapshot = directPolicy(parsePolicy(files, resources), resources, now)
  return { revision: revision as Revision, snapshot, blocked: new Map() }
}

/** What removing the part alone, in the text of the files, and replaying comes to. Undefined where the parser refuses it. */
async function replayedWithout(files: PolicyFiles, resources: Resources, part: PolicyPart, record: DecisionRecord) {
  const now = Date.parse(record.time)
  try {
    const policy = activeBy(filesWithout(files, part, resources), resources, 'without', now)
    const again = await decideAgain({ resources, policyAt: () => policy }, record)
    if (again.kind === 'undecidable' || again.kind === 'unconcerned') return again.kind
    const change = compare(record, again)?.change
    return change === undefined ? 'not needed' : change === 'refused-otherwise' ? 'refusing' : 'needed'
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function toldOf({ needed, refusing, unseen }: Needs, part: PolicyPart): string {
  if (unseen.some(([one]) => one === part)) return 'undecidable'
  if (needed.includes(part)) return 'needed'
  return refusing.includes(part) ? 'refusing' : 'not needed'
}

function isAsked(
  part: PolicyPart,
  { resource = '', action = '', subject, roles = [], facts }: DecisionRecord,
  policy: Policy,
): boolean {
  if (part.kind === 'field') return part.resource === resource
  const inherited = (role: string): string[] => [
    role,
    ...policy.links.filter((link) => link.role === role).flatMap((link) => inherited(link.inherits)),
  ]
  const names = [
    'everyone',
    subject === undefined ? 'anonymous' : `user:${subject}`,
    ...roles.filter((role) => policy.roles.has(role)).flatMap(inherited),
  ]
  const { of: rule, kind, name } = part
  const actions = kind === 'action' ? [name] : rule.actions
  const looked = facts?.where ? ['*', action] : ['*', 'read', action]
  return (
    [resource, '*', 'system/*'].includes(rule.resource) &&
    names.includes(rule.subject) &&
    looked.some((one) => actions.includes(one))
  )
}

interface Compared {
  readonly files: PolicyFiles
  readonly resources: Resources
  readonly parts: readonly PolicyPart[]
}

async function agree(find: Find, { files, resources, parts }: Compared, record: DecisionRecord, seen: Seen) {
  const needs = await find(record)
  if (needs.kind === 'undecidable') {
    const policy = activeBy(files, resources, 'again', Date.parse(record.time))
    const again = await decideAgain({ resources, policyAt: () => policy }, record)
    expect(again.kind).to.be.oneOf(['undecidable', 'further'])
    expect(record.problem, 'only a refused request lacks facts').to.not.equal(undefined)
    return
  }
  const { policy } = loadedOf(files, resources)
  for (const part of parts) {
    const expected = await replayedWithout(files, resources, part, record)
    if (expected === undefined || expected === 'unconcerned') continue
    const told = `${part.kind} ${expected}`
    seen.set(told, (seen.get(told) ?? 0) + 1)
    const about = part.kind === 'field' ? `${part.resource}.${part.view}` : `line ${part.of.line}`
    const found = toldOf(needs, part)
    // A replay doesn't look at what the two policies have in common; this part isn't about the caller and the action.
    if (expected === 'undecidable' && found === 'not needed' && !isAsked(part, record, policy)) continue
    expect(found, `${about} ${part.kind} ${part.name}`).to.equal(expected)
  }
}

/** Every second line has all views of documents: one of several is needed where the others lack a field. */
const severalViews = generousPolicy.map(({ data, files }) => {
  const named = [...(data.views.get('docs')?.keys() ?? [])]
  const rules = data.rules.map((rule, i) => {
    const isNamed = rule.views.length > 0 && rule.views.every((view) => named.includes(view))
    return i % 2 === 0 && rule.resource === 'docs' && isNamed ? { ...rule, views: named } : rule
  })
  return { files: { ...files, ...render({ ...data, rules }, { lineEnd: '\n', padding: ' ', comments: false }) } }
})

/** Each request under one policy, so that a later one may be found decided like an earlier one. */
function needsWhatReplaysNeed(seen: Seen, wrong: (find: Find) => Find = (find) => find) {
  return fc.asyncProperty(
    severalViews,
    fc.array(randomRequest, { minLength: 1, maxLength: 6 }),
    async (then, asked) => {
      const { files } = then
      const loaded = loadedOf(files, WITH_ROUTES)
      const parts = policyParts(loaded.policy, WITH_ROUTES)
      const needed = new NeededParts(loaded, WITH_ROUTES, parts)
      const find = wrong((record) => needed.of(record))
      const policy = activeBy(files, WITH_ROUTES, 'present', Date.UTC(2026, 0))
      for (const request of asked) {
        const { record } = await live(policy, request)
        await agree(find, { files, resources: WITH_ROUTES, parts }, record, seen)
      }
    },
  )
}

describe('the parts that a random request needs', () => {
  it('are those without which, each alone, a replay of it differs', async () => {
    const seen: Seen = new Map()
    await drawing(
      () => fc.assert(needsWhatReplaysNeed(seen), { numRuns: runs(150) }),
      () => {
        for (const kind of ['line', 'action', 'view', 'term', 'field'])
          for (const told of ['needed', 'not needed'])
            expect(seen.get(`${kind} ${told}`), `${kind} ${told}`).to.be.above(0)
        expect(seen.get('line refusing')).to.be.above(0)
      },
    )
  })

  it('are those under policies of the second edition too', async () => {
    const seen: Seen = new Map()
    const property = fc.asyncProperty(randomAsked, async (asked) => {
      const { record, resources } = await serve(activeOf(asked.world, 'present'), asked)
      const files = filesOfWorld(asked.world)
      const loaded = loadedOf(files, resources)
      const parts = policyParts(loaded.policy, resources)
      const needed = new NeededParts(loaded, resources, parts)
      await agree((one) => needed.of(one), { files, resources, parts }, record, seen)
    })
    await drawing(
      () => fc.assert(property, { numRuns: runs(400) }),
      () => {
        for (const told of ['line needed', 'term needed', 'action needed']) expect(seen.get(told), told).to.be.above(0)
      },
    )
  })

  const wrong: Readonly<Record<string, (find: Find) => Find>> = {
    'takes all requests of a kind for the same': (find) => {
      const known = new Map<string, Promise<Needs>>()
      return (record) =>
        known.getOrInsertComputed(`${record.method} ${record.route} ${record.status}`, () => find(record))
    },
    'forgets who asked': (find) => (record) => find({ ...record, subject: 'nobody' }),
    'forgets that a refusal may have another answer': (find) => async (record) => ({
      ...(await find(record)),
      refusing: [],
    }),
  }
  for (const [fault, make] of Object.entries(wrong)) {
    it(`are compared so that it is found out when the tool ${fault}`, async () => {
      const outcome = await fc.check(needsWhatReplaysNeed(new Map(), make), {
        numRuns: 3000,
        seed: 1,
        endOnFailure: true,
      })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
