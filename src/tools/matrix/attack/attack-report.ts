/** What each caller could reach, compared with the policy: for people and for programs. */
import { printable } from '../../../present/quote.ts'
import { formatsOf, type Paragraph } from '../../../present/report.ts'
import { table } from '../../../present/text.ts'
import { columnText } from '../read/expectation.ts'
import { causesOf, countOf, isGreen, type Run, sentenceOf, type Timed } from '../run/result.ts'
import type { Attacked } from './attack-all.ts'
import type { Attack } from './plan-attacks.ts'

export interface AttackTally {
  readonly attacker: string
  readonly resource: string
  readonly requests: number
  /** Answered with success. */
  readonly reached: number
  readonly refused: number
  readonly different: number
  readonly impossible: number
}

type AttackRun = Run<AttackResult>
type AttackResult = Attacked & Timed

export const ATTACK_FORMATS = formatsOf((run: AttackRun) => {
  const tried = run.results.filter(({ outcome }) => outcome !== 'left-out')
  const left = run.results.length - tried.length
  const remarks = [...(left > 0 ? [`The run ended early: ${left} attacks were left out.`] : []), ...run.remarks]
  return {
    text: () => [
      ...tried.filter(({ outcome }) => outcome === 'failed').map(findingLines),
      ...causesOf(tried).flatMap((cause) => (cause.kind === 'untried' ? [[printable(sentenceOf(cause))]] : [])),
      tallyLines(talliesOf(tried)),
      ...remarks.map((remark) => [remark]),
      [conclusion(run.url, tried)],
    ],
    json: () => {
      const findings = tried.filter(({ outcome }) => outcome !== 'passed').map(findingJson)
      const where = run.url === undefined ? {} : { url: run.url }
      return { ...where, requests: tried.length, callers: talliesOf(tried), findings, remarks }
    },
  }
})

/** By attacker and resource. */
export function talliesOf(tried: readonly AttackResult[]): readonly AttackTally[] {
  const groups = Map.groupBy(
    tried,
    ({ attack }) => `${columnText(attack.attacker)}\n${attack.routeMethod.resource.name}`,
  )
  return [...groups].map(([key, some]) => {
    const [attacker = '', resource = ''] = key.split('\n')
    const count = (fits: (one: AttackResult) => boolean) => some.filter(fits).length
    return {
      attacker,
      resource,
      requests: some.length,
      reached: count(({ status = 0 }) => status >= 200 && status < 300),
      refused: count(({ status = 0 }) => status >= 300),
      different: count(({ outcome }) => outcome === 'failed'),
      impossible: count(({ outcome }) => outcome === 'impossible'),
    }
  })
}

function findingJson({ attack, outcome, predicted, status, why, exchanges: [exchange] }: AttackResult) {
  const { method, route } = attack.routeMethod
  return {
    outcome: outcome === 'failed' ? 'different' : outcome,
    attacker: columnText(attack.attacker),
    victim: columnText(attack.victim),
    ...(attack.attributes ? { attributes: attack.attributes } : {}),
    vector: attack.vector,
    ...(attack.reference ? { field: attack.reference.field } : {}),
    ...(attack.short ? { missing: attack.short.missing } : {}),
    method,
    path: route.path,
    relations: attack.way.relations,
    ...(predicted === undefined ? {} : { predicted }),
    ...(status === undefined ? {} : { status }),
    why,
    ...(exchange ? { exchange } : {}),
  }
}

function findingLines({ attack, why = '', exchanges: [exchange] }: AttackResult): Paragraph {
  const request = exchange ? [`  ${exchange.request.method} ${exchange.request.url}`] : []
  return [printable(titleOf(attack)), printable(`  ${why}`), ...request]
}

/** One line that identifies the attack. */
function titleOf({ vector, routeMethod, victim, attacker, attributes, way, reference, short }: Attack): string {
  const whose = way.relations.length > 0 ? ` (${way.relations.join('+')} to the victim)` : ''
  const about = reference?.field ?? short?.missing
  const changed = about === undefined ? '' : ` (${about})`
  const request = `${routeMethod.method} ${routeMethod.route.path}${whose}, ${vector}${changed}`
  const who = attributes ? `${columnText(attacker)} with ${attributes} attributes` : columnText(attacker)
  return `${who} makes a request of ${columnText(victim)}: ${request}`
}

function tallyLines(tallies: readonly AttackTally[]): Paragraph {
  const head = ['caller', 'resource', 'requests', 'reached', 'refused', 'different', "can't be tried"]
  const rows = tallies.map((one) =>
    [one.attacker, one.resource, one.requests, one.reached, one.refused, one.different, one.impossible].map(String),
  )
  return table([head, ...rows], 2)
}

function conclusion(url: string | undefined, tried: readonly AttackResult[]): string {
  const { failed, impossible } = countOf(tried)
  const where = url === undefined ? 'in this process' : `at ${url}`
  if (isGreen({ results: tried }))
    return `${tried.length} attacks reached what the policy allows, and no more (${where}).`
  const different = `${failed} of ${tried.length} attacks were not answered as the policy says`
  return `${different}, and ${impossible} could not be tried (${where}).`
}
