/** What is wrong with a policy that breaks its guarantees: one fault for each of them, at the line that breaks it. */
import { type Diagnostic, FileError } from '../../base/diagnostic.ts'
import { timeText } from '../../base/time.ts'
import { changesStored } from '../../decide/callers-and-routes.ts'
import type { Guarantee, Policy } from '../../decide/policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { namesText } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { type Sides, sidesOf } from '../compared-space.ts'
import { type Circumstances, Incomparable } from '../diff/compare-decisions.ts'
import { comparePolicies } from '../diff/compare-policies.ts'
import { brokenRatchets, keptRatchets } from '../diff/ratchets.ts'
import type { GuaranteedCaller } from './asked-rules.ts'
import type { Break } from './claims.ts'
import { type Breaking, type GuaranteeAnswer, Prover } from './prove.ts'

/**
 * Throws FileError if the policy breaks one of its guarantees, now or after the end of a rule, or if that can't be decided.
 * `now` in milliseconds since the epoch.
 */
export function refuseBroken(
  policy: Policy,
  files: PolicyFiles,
  { resources, now }: { readonly resources: Resources; readonly now: number },
): void {
  const prover = new Prover(policy, resources, now)
  const faults = policy.guarantees.flatMap((guarantee) => {
    const answer = prover.answer(guarantee)
    const [first] = answer.kind === 'broken' ? answer.breaks() : []
    return faultOf(guarantee, answer, first, { files, now })
  })
  if (faults.length > 0) throw new FileError(faults)
}

/** Throws FileError if the next version breaks what a guarantee of the present one says about changes. */
export function refuseChange(policies: Sides<Policy>, circumstances: Circumstances): void {
  const kept = keptRatchets(policies)
  if (kept.length === 0) return
  const sides = sidesOf((side) => ({ policy: policies[side], blocked: new Map() }))
  try {
    const faults = brokenRatchets(policies, comparePolicies(sides, circumstances)).map((one) => one.fault)
    if (faults.length > 0) throw new FileError(faults)
  } catch (error) {
    if (!(error instanceof Incomparable)) throw error
    const undecided = kept.map(({ name, place }) => {
      const message = `whether the guarantee \`${name}\` holds is not decided: ${error.message}`
      return fault(place, 'guarantee-undecided', message, 'change the guarantee in the same version')
    })
    throw new FileError(undecided)
  }
}

const UNSHOWN = 'but no request was found that shows it'

/** None for a proven guarantee. `shown`: the break that the fault tells; without it, nothing shows that it is broken. */
export function faultOf(
  guarantee: Guarantee,
  answer: GuaranteeAnswer,
  shown: Breaking | undefined,
  { files, now }: { readonly files: PolicyFiles; readonly now: number },
): readonly Diagnostic[] {
  const { name, place, kind } = guarantee
  if (answer.kind === 'proven') return []
  if (!shown) {
    const why =
      answer.kind === 'undecided'
        ? answer.why
        : `${answer.breaks().take(1).map(breakText).toArray().join()}, ${UNSHOWN}`
    const message = `whether the guarantee \`${name}\` holds is not decided: ${why}`
    return [
      fault(place, 'guarantee-undecided', message, 'name fewer relations and conditions, or correct the guarantee'),
    ]
  }
  const last = shown.acts.at(-1) ?? shown.acts[0]
  const [line] = last.lines
  const at = line === undefined ? place : { file: files['policy.csv'].name, line, column: 1 }
  const since = last.from > now ? `, from ${timeText(last.from)} on` : ''
  const message = `this breaks the guarantee \`${name}\`: ${breakText(shown)}${since}`
  const change = kind !== 'always' ? 'allow less' : line === undefined ? 'allow it' : 'deny less'
  return [fault(at, 'guarantee-broken', message, `${change}, or change the guarantee in ${place.file}:${place.line}`)]
}

function fault(place: Guarantee['place'], code: string, message: string, hint: string): Diagnostic {
  return { ...place, code, severity: 'error', message, hint }
}

/** `a caller with \`member\` can \`update\` \`status\` of \`orders\` where \`owner\` becomes \`owner+placed\`` */
function breakText({ acts }: Breaking): string {
  const [{ act, caller }] = acts
  const can = act.kind === 'always' ? "can't" : 'can'
  return `${callerText(caller)} ${can} ${acts.map(actText).join(', and ')}`
}

function actText(shown: Break): string {
  const { act, action, fields, resource } = shown
  // An `always` without fields asks for one field.
  const all = act.kind === 'always' ? 'any field of ' : ''
  const what = act.fields ? `${namesText(fields)} of ` : all
  return `\`${action.name}\` ${action.hasFields ? what : ''}\`${resource.name}\` where ${situationText(shown)}`
}

export function callerText({ kind, roles, user }: GuaranteedCaller): string {
  if (kind === 'anonymous') return 'a caller without credentials'
  const held = roles.length === 0 ? '' : ` with ${namesText(roles, ' and ')}`
  if (user !== undefined) return `\`${user}\`${held}`
  return held === '' ? 'a caller without a role' : `a caller${held}`
}

function situationText({ situation: { stored, proposed, conditions }, operation }: Break): string {
  const names = (some: readonly string[]) => (some.length === 0 ? 'no relation' : `\`${some.join('+')}\``)
  const isChange = changesStored(operation) && stored.join() !== proposed.join()
  const object = isChange ? `${names(stored)} becomes ${names(proposed)}` : `${names(stored)} holds`
  return conditions.length === 0 ? object : `${object}, under ${names(conditions)}`
}
