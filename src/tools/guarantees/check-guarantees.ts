/** The answers to the guarantees of a policy, for people and programs: each proven, broken with a counterexample, or undecided. */
import type { Break } from '../../analysis/guarantees/claims.ts'
import { callerText, faultOf } from '../../analysis/guarantees/faults.ts'
import { type Breaking, type GuaranteeAnswer, Prover } from '../../analysis/guarantees/prove.ts'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { shellWord } from '../../base/problems/fix.ts'
import type { Guarantee, Policy } from '../../decide/policy.ts'
import { comparedFields, isLeaf, valuesWhoeverAsks } from '../../decide/relations/all-kinds.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { FindingReport } from '../../present/findings.ts'
import type { Paragraph } from '../../present/report.ts'
import { count } from '../../present/text.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Counterexample, ShownAct, ShownRequest } from './counterexample.ts'

interface GuaranteesOf {
  /** All rules, also those that have ended. */
  readonly policy: Policy
  readonly files: PolicyFiles
  readonly resources: Resources
  /** Milliseconds since the epoch. */
  readonly now: number
  /** As commands name the policy. */
  readonly named: string
}

interface Judged {
  readonly guarantee: Guarantee
  readonly answer: GuaranteeAnswer
  readonly findings: readonly Diagnostic[]
  readonly shown?: { readonly by: Breaking; readonly example: Counterexample }
}

/** More breaks of one guarantee are not tried. */
const MOST_TRIED = 48

export async function checkGuarantees(
  about: GuaranteesOf,
): Promise<Required<Pick<FindingReport, 'findings' | 'beside'>>> {
  const prover = new Prover(about.policy, about.resources, about.now)
  const judged: Judged[] = []
  for (const guarantee of about.policy.guarantees) judged.push(await judge(guarantee, prover, about))
  const broken = judged.filter(({ shown }) => shown)
  const proven = judged.filter(({ answer }) => answer.kind === 'proven')
  const cells = proven.reduce((sum, { answer }) => sum + answer.cells, 0)
  const results = judged.map((one) => ({ place: one.guarantee.place, result: resultOf(one, about) }))
  const ratchets = about.policy.ratchets.map(({ name, place }) => ({ place, result: keptAtChanges(name) }))
  const held = about.policy.roleGuarantees.map(({ name, place }) => ({ place, result: heldAtWrites(name) }))
  return {
    findings: judged.flatMap(({ findings }) => findings),
    beside: {
      text: [
        ...broken.map((one) => exampleText(one, about)),
        proven.length === 0 ? [] : [`${count(proven.length, 'guarantee')} proven, in ${count(cells, 'cell')}`],
        held.length === 0 ? [] : [`${count(held.length, 'guarantee')} about people held at each write: ${DATA_CHECK}`],
        ratchets.length === 0 ? [] : [`${count(ratchets.length, 'guarantee')} kept at each change: ${NOTHING_BEFORE}`],
      ],
      // In the order of the file.
      json: {
        guarantees: [...results, ...held, ...ratchets]
          .toSorted((a, b) => a.place.line - b.place.line)
          .map(({ result }) => result),
      },
    },
  }
}

async function judge(guarantee: Guarantee, prover: Prover, about: GuaranteesOf): Promise<Judged> {
  const answer = prover.answer(guarantee)
  const shown = answer.kind === 'broken' ? await firstShown(answer.breaks(), about) : undefined
  return { guarantee, answer, findings: faultOf(guarantee, answer, shown?.by, about), ...(shown && { shown }) }
}

/** The first break that a request shows. */
async function firstShown(
  breaks: Iterable<Breaking>,
  { policy, resources, now }: GuaranteesOf,
): Promise<Judged['shown']> {
  // Most policies keep their guarantees: then no server is loaded.
  const { Counterexamples } = await import('./counterexample.ts')
  const examples = new Counterexamples(policy, resources, now)
  let tried = 0
  for (const by of breaks) {
    if (tried++ === MOST_TRIED) return undefined
    const example = await examples.find(by)
    if (example) return { by, example }
  }
  return undefined
}

const DATA_CHECK = '`sallyport data check` finds who breaks them'

const NOTHING_BEFORE =
  'nothing was there to compare with; `policy diff`, `apply`, `ci` and a running server compare two versions'

/** One version alone widens and narrows nothing. */
function keptAtChanges(name: string): object {
  return { name, status: 'kept at each change', cells: 0, reason: NOTHING_BEFORE }
}

/** No rule proves or breaks what is said of people. */
function heldAtWrites(name: string): object {
  return { name, status: 'held at each write', cells: 0, reason: DATA_CHECK }
}

/** As docs/schemas/policy-check.schema.json says. */
function resultOf({ guarantee: { name }, answer, shown, findings }: Judged, about: GuaranteesOf): object {
  if (answer.kind === 'proven') return { name, status: 'proven', cells: answer.cells }
  if (!shown) return { name, status: 'undecided', cells: answer.cells, reason: findings[0]?.message ?? '' }
  return { name, status: 'broken', cells: answer.cells, counterexample: exampleOf(shown.example, about) }
}

/** As the same schema says. */
function exampleOf([{ by, shown }, ...more]: Counterexample, about: GuaranteesOf): object {
  const { caller, facts, method, path, body, status, before, after, others } = shown
  const [next, ...rest] = more
  return {
    caller: caller ? { id: caller.id, roles: caller.roles, attributes: caller.claims } : null,
    request: { method, path, ...(body && { body }), ...(facts.address && { address: facts.address }) },
    at: new Date(facts.now).toISOString(),
    conditions: by.situation.conditions,
    status,
    before: before ?? null,
    after: after ?? null,
    others,
    lines: by.lines,
    explain: explainCommand(by, shown, about),
    curl: curlCommand(shown),
    ...(next && { next: exampleOf([next, ...rest], about) }),
  }
}

function exampleText({ guarantee, shown }: Judged, about: GuaranteesOf): Paragraph {
  if (!shown) return []
  const [first, ...more] = shown.example.map((one) => actText(one, about))
  const apart = more.flatMap((lines) => ['  and then', ...lines])
  return [`counterexample to \`${guarantee.name}\``, ...(first ?? []), ...apart]
}

function actText({ by, shown }: ShownAct, about: GuaranteesOf): readonly string[] {
  const { caller, method, path, body, status, before, after, others } = shown
  const attributes = Object.keys(caller?.claims ?? {}).length === 0 ? '' : `, with ${JSON.stringify(caller?.claims)}`
  const [verb, { name }] = [by.act.kind === 'always' ? 'denied' : 'allowed', by.resource]
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['caller', `${callerText(by.caller)}${caller ? `: ${caller.id}${attributes}` : ''}`],
    ['request', `${method} ${path}${body ? ` ${JSON.stringify(body)}` : ''} -> ${status}`],
    ['before', before && `${name} ${JSON.stringify(before)}`],
    ['after', after && `${name} ${JSON.stringify(after)}`],
    ...others.map((one) => ['beside', `${one.resource} ${JSON.stringify(one.object)}`] as const),
    [verb, by.lines.length === 0 ? undefined : by.lines.map((line) => `policy.csv:${line}`).join(', ')],
    ['explain', explainCommand(by, shown, about)],
    ['send', curlCommand(shown)],
  ]
  return lines.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(8)} ${text}`]))
}

/** `$TOKEN` is a token of the caller. */
function curlCommand({ caller, method, path, isConditional, body }: ShownRequest): string {
  const headers = [
    ...(caller ? ['authorization: Bearer $TOKEN'] : []),
    ...(isConditional ? ['if-match: *'] : []),
    ...(body ? ['content-type: application/json'] : []),
  ]
  const sent = body ? ` -d ${shellWord(JSON.stringify(body))}` : ''
  const given = headers.map((header) => ` -H ${header.includes('$') ? `"${header}"` : shellWord(header)}`).join('')
  return `curl -X ${method} ${shellWord(`http://127.0.0.1:3000${path}`)}${given}${sent}`
}

function explainCommand(
  { resource, situation, operation }: Break,
  { caller, method, path, before, body }: ShownRequest,
  { policy, named }: GuaranteesOf,
): string {
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])].filter(isLeaf)
  const held = (names: readonly string[], some = relations) =>
    some.flatMap(({ name }) => (names.includes(name) ? [name] : [])).join('+') || 'none'
  const isChange = operation === 'replace' || operation === 'update'
  const changed = relations.filter(
    (one) => situation.stored.includes(one.name) !== situation.proposed.includes(one.name) && valuesWhoeverAsks(one),
  )
  const fields = new Set(isChange ? changed.flatMap(comparedFields) : [])
  const states = relations.filter(
    (one) => valuesWhoeverAsks(one) && comparedFields(one).every((name) => fields.has(name)),
  )
  const becomes = `${held(situation.stored, states)}>${held(situation.proposed, states)}`
  const words = [
    ...(named === 'policies' ? [] : ['--policies', named]),
    ...(caller?.roles ?? []).flatMap((role) => ['--role', role]),
    ...(caller ? ['--subject', caller.id] : []),
    method,
    before && path.endsWith(String(before.id)) ? path.replace(encodeURIComponent(String(before.id)), '{id}') : path,
    ...(before || body ? ['--relation', held(situation.stored)] : []),
    ...(policy.conditions.size > 0 ? ['--with', situation.conditions.join('+') || 'none'] : []),
    ...(fields.size === 1 ? ['--becomes', becomes] : []),
  ]
  return `sallyport policy explain ${words.map(shellWord).join(' ')}`
}
