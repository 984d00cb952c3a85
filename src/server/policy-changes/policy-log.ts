/**
 * The log lines about policy changes: one for each policy that took over, with what the change means, and one for each
 * policy that was refused, with the places of its faults. The policy is in force before its line is written, whatever
 * happens here.
 */
import type { Logger } from 'pino'
import { type Diagnostic, FileError } from '../../base/diagnostic.ts'
import type { FormerWord } from '../../policy/former-words.ts'
import type { PolicyEvent } from '../../policy/live/active-policy.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { Comparer } from './comparer.ts'

/** When more changes than this wait to be compared, the later ones are reported without their meaning. */
const MOST_WAITING = 4
const MOST_FAULTS = 20

type Activated = Extract<PolicyEvent, { kind: 'activated' }>

export interface PolicyLog {
  /** Returns at once. */
  report(event: PolicyEvent): void
  /** Reports the changes that still wait, without comparing them. */
  close(): Promise<void>
}

export function createPolicyLog(log: Logger, comparer: Comparer): PolicyLog {
  let reported = Promise.resolve()
  let waiting = 0
  let closed = false

  function queue(event: Activated): void {
    const tookOver = new Date().toISOString()
    const tooMany = waiting >= MOST_WAITING
    waiting += 1
    // In the order in which they took over.
    reported = reported.then(async () => {
      const meaning = tooMany ? { uncompared: 'too many changes at once' } : await meaningOf(event)
      waiting -= 1
      const level = 'uncompared' in meaning ? 'warn' : 'info'
      const { revision, previous, sequence } = event
      log[level]({ revision, previous, sequence, tookOver, ...meaning }, 'policy activated')
    })
  }

  async function meaningOf({ before, after }: Activated) {
    if (closed) return { uncompared: 'the server is closing' }
    try {
      const { counts, ...sentences } = await comparer.compare({ before, after })
      return { ...counts, ...sentences }
    } catch (error) {
      return { uncompared: (error as Error).message }
    }
  }

  return {
    report(event) {
      if (event.kind === 'activated') queue(event)
      if (event.kind === 'ended') {
        log.info({ revision: event.revision, lines: event.lines }, 'rules of policy.csv have ended')
      }
      if (event.kind === 'former-words') {
        const places = event.words.slice(0, MOST_FAULTS).map(formerWordText)
        log.warn({ places }, 'the policy has former words: `sallyport policy check --fix` replaces them')
      }
      if (event.kind === 'recovered') log.info({ revision: event.revision }, 'policy files are valid again')
      if (event.kind === 'failed')
        log.error(faultFields(event.error), 'policy refused; the previous policy stays in force')
    },
    async close() {
      closed = true
      await comparer.end()
      await reported
    },
  }
}

function faultFields(error: unknown): object {
  if (!(error instanceof FileError)) return { err: error }
  const faults = error.diagnostics.map(({ file, line, column, code, message, hint }) => ({
    file,
    line,
    column,
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
  }))
  const shown = faults.slice(0, MOST_FAULTS)
  const more = faults.length - shown.length + error.more
  return { faults: shown, ...(more > 0 ? { more } : {}) }
}

/** For readiness: the revision in force, and where the files are wrong. Anybody may ask for it, so it shows no rule. */
export function policyDetail({ active, faults }: LivePolicy): string {
  const errors = faults.filter((fault) => fault instanceof FileError)
  const [first, ...others] = errors.flatMap(({ diagnostics }) => diagnostics)
  const more = errors.reduce((sum, error) => sum + error.more, others.length)
  const refused = first === undefined ? '' : `: ${placeText(first)}${more > 0 ? ` and ${more} more` : ''}`
  return `the files were refused${refused}; the previous policy stays in force, revision ${active.revision}`
}

function placeText({ file, line, column, code }: Diagnostic): string {
  return `${nameOf(file)}:${line}:${column} [${code}]`
}

function nameOf(file: string): string {
  return file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1)
}

function formerWordText({ file, line, column, former, now }: FormerWord): string {
  return `${file}:${line}:${column}: \`${former}\` is \`${now}\` now`
}
