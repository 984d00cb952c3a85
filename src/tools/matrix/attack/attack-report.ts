/** What each caller could reach, compared with the policy: for people and for programs. */
import { printable } from '../../../present/quote.ts'
import { formatsOf, type Paragraph } from '../../../present/report.ts'
import { table } from '../../../present/text.ts'
import { columnText } from '../read/expectation.ts'
import type { AttackRun, Reached } from './attack-all.ts'
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

export const ATTACK_FORMATS = formatsOf((run: AttackRun) => ({
  text: () => {
    const findings = run.reached.filter(({ outcome }) => outcome === 'different').map(findingLines)
    const remarks = run.remarks.map((remark) => [remark])
    return [...findings, ...impossibleLines(run), tallyLines(talliesOf(run)), ...remarks, [conclusion(run)]]
  },
  json: () => {
    const { url, reached, remarks } = run
    const findings = reached.filter(({ outcome }) => outcome !== 'same').map(findingJson)
    const where = url === undefined ? {} : { url }
    return { ...where, requests: reached.length, callers: talliesOf(run), findings, remarks }
  },
}))

/** Whether every attack was tried and reached exactly what the policy says. */
export function reachesNoMore({ reached }: AttackRun): boolean {
  return reached.every(({ outcome }) => outcome === 'same')
}

/** By attacker and resource. */
export function talliesOf({ reached }: AttackRun): readonly AttackTally[] {
  const groups = Map.groupBy(
    reached,
    ({ attack }) => `${columnText(attack.attacker)}\n${attack.routeMethod.resource.name}`,
  )
  return [...groups].map(([key, some]) => {
    const [attacker = '', resource = ''] = key.split('\n')
    const count = (fits: (one: Reached) => boolean) => some.filter(fits).length
    return {
      attacker,
      resource,
      requests: some.length,
      reached: count(({ status = 0 }) => status >= 200 && status < 300),
      refused: count(({ status = 0 }) => status >= 300),
      different: count(({ outcome }) => outcome === 'different'),
      impossible: count(({ outcome }) => outcome === 'impossible'),
    }
  })
}

function findingJson({ attack, outcome, predicted, status, why, exchange }: Reached) {
  const { method, route } = attack.routeMethod
  return {
    outcome,
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

function findingLines({ attack, why = '', exchange }: Reached): Paragraph {
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

/** Once for each reason. */
function impossibleLines({ reached }: AttackRun): readonly Paragraph[] {
  const groups = Map.groupBy(
    reached.filter(({ outcome }) => outcome === 'impossible'),
    ({ why }) => why ?? '',
  )
  return [...groups].map(([why, some]) => [printable(`${some.length} attacks can't be tried: ${why}`)])
}

function tallyLines(tallies: readonly AttackTally[]): Paragraph {
  const head = ['caller', 'resource', 'requests', 'reached', 'refused', 'different', "can't be tried"]
  const rows = tallies.map((one) =>
    [one.attacker, one.resource, one.requests, one.reached, one.refused, one.different, one.impossible].map(String),
  )
  return table([head, ...rows], 2)
}

function conclusion(run: AttackRun): string {
  const count = (outcome: Reached['outcome']) => run.reached.filter((one) => one.outcome === outcome).length
  const where = run.url === undefined ? 'in this process' : `at ${run.url}`
  if (reachesNoMore(run)) return `${run.reached.length} attacks reached what the policy allows, and no more (${where}).`
  const different = `${count('different')} of ${run.reached.length} attacks were not answered as the policy says`
  return `${different}, and ${count('impossible')} could not be tried (${where}).`
}
