/** The log lines about the database of published policies: it answers, or it doesn't. */
import type { Logger } from 'pino'
import type { ChannelState } from './follow-versions.ts'

export function tellChannel(log: Logger, maxAgeMs: number): (state: ChannelState, error: unknown) => void {
  const maxAgeSeconds = maxAgeMs / 1000
  const messages: Readonly<Record<ChannelState, string>> = {
    answers: 'the published policy can be read again',
    lost: "the published policy can't be read; the last good one decides until it is too old (POLICY_MAX_AGE)",
    expired: 'the policy may be out of date, so requests are refused until the published policy can be read',
  }
  return (state, error) => {
    if (state === 'answers') log.warn(messages[state])
    else log.error({ err: error, maxAgeSeconds }, messages[state])
  }
}
