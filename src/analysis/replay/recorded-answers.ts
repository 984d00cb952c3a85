/**
 * The answers that a record holds to conditions of the request and to relations that rest on other objects. An answer
 * counts where the policy that decides again has the same definition, whatever its name.
 */
import { definitionOfCondition, definitionOfRelation, type Facts } from '../../decide/evidence.ts'
import type { FactSource } from '../../decide/facts.ts'
import { conditionHolds, type RequestCondition } from '../../decide/request-conditions/all-conditions.ts'
import { credentialKindOf } from '../../decide/request-conditions/credential.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import { AnswerMissing, type RecordedRequest } from './recorded-facts.ts'

/** `when`: about the stored (or created) object, or about the object after the write. Throws AnswerMissing. */
export function recordedLookups(
  { facts = {} }: DecisionRecord,
  when: 'related' | 'relatedAfter',
): FactSource['lookup'] {
  return (_lookup, relation) => {
    const held = answerOf(facts, when, definitionOfRelation(relation))
    if (held === undefined) throw new AnswerMissing(`whether the relation \`${relation.name}\` held`)
    return held
  }
}

/** Whether a condition held: by its answer, or else by what the record holds of the request. Throws AnswerMissing. */
export function recordedConditions(
  record: DecisionRecord,
  request: RecordedRequest,
): (condition: RequestCondition) => boolean {
  return (condition) => {
    const held = answerOf(record.facts ?? {}, 'conditions', definitionOfCondition(condition))
    if (held !== undefined) return held
    const unknown = unknownTo(condition, record, request)
    if (unknown !== undefined) throw new AnswerMissing(unknown)
    const { signedIn, credential } = record
    return conditionHolds(condition, {
      now: Date.parse(record.time),
      address: record.address?.replace(NETWORK_END, ''),
      credential: request.caller && credentialKindOf({ credential }),
      authTime: signedIn?.at === undefined ? undefined : Date.parse(signedIn.at),
      acr: signedIn?.acr,
      hasCredentials: request.caller !== undefined,
    })
  }
}

function answerOf(facts: Facts, member: 'conditions' | 'related' | 'relatedAfter', definition: string) {
  const answers = Object.entries(facts[member] ?? {})
  return answers.find(([name]) => facts.definitions?.[name] === definition)?.[1]
}

/** Records keep the network of an IPv6 address: its first 64 bits. */
const NETWORK_BITS = 64
const NETWORK_END = `/${NETWORK_BITS}`

/** What the record doesn't hold of all that the condition looks at; undefined if nothing is missing. */
function unknownTo(
  condition: RequestCondition,
  { address, credential, signedIn }: DecisionRecord,
  { caller }: RecordedRequest,
): string | undefined {
  switch (condition.kind) {
    case 'network': {
      const isUnknown = address === MASKED || (address?.endsWith(NETWORK_END) && isFine(condition.networks))
      return isUnknown ? "the client's whole address" : undefined
    }
    case 'signedIn': {
      const isUnknown = caller && signedIn === undefined && credentialKindOf({ credential }) !== 'api-key'
      return isUnknown ? 'when and how the caller signed in' : undefined
    }
    default:
      return undefined
  }
}

/** Whether some of these networks are smaller than the network of an address in a record. */
function isFine(networks: readonly string[]): boolean {
  return networks.some((network) => Number(network.split('/')[1]) > NETWORK_BITS)
}
