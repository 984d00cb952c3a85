/** sallyport policy usage and trim: what the requests of decision logs needed of a policy, and a policy without the rest. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { durationText } from '../../base/time.ts'
import { ConfigError } from '../../config/values.ts'
import { printReport } from '../../present/print.ts'
import {
  formats,
  lifetime,
  MATRICES,
  POLICIES,
  SCHEMAS,
  SINCE,
  settingsWith,
  TEXT_OR_JSON,
  UNTIL,
  withHelp,
} from '../options.ts'
import { withProgress } from '../progress.ts'

const DAY_MS = 86_400_000

const KEEP = new Option('--keep <file>', 'a YAML file of lines that stay, each with a reason and an owner')
const MAX_SILENCE = new Option(
  '--max-silence <duration>',
  'so long without a record is quiet; longer, records are missing',
)
  .argParser(lifetime)
  .default(DAY_MS, '1d')

export function declareUsage(policy: Command): void {
  withHelp(policy.command('usage'), {
    about:
      'say which lines, actions, views and terms of the policy the requests of decision logs needed, and which nobody',
    note: `A request needs what it would get another answer without. Refused requests need no grant; they need the denies and
the terms that refuse them. What the logs can't show is called undecided, with the reason, and never unused.
--fail-on unused=180d needs a --since of 180 days or more.

Exit code: 0, or 1 for grants that --fail-on names, or 2 when the command could not run.`,
    examples: [
      'policy usage data/decisions.log.1 data/decisions.log --since 90d',
      'policy usage data/decisions.log --since 180d --fail-on unused=180d --format sarif',
    ],
  })
    .argument('<log...>', 'decision log files, full ones too')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(SINCE)
    .addOption(UNTIL)
    .addOption(MAX_SILENCE)
    .addOption(
      new Option('--fail-on <unused=duration>', 'exit with 1 for grants that nobody needed for so long').argParser(
        unused,
      ),
    )
    .addOption(KEEP)
    .addOption(formats('text', 'json', 'html', 'sarif'))
    .action(async (files, { format, maxSilence, failOn, keep, since, until, ...flags }) => {
      const { readKeep } = await import('../../tools/usage/keep.ts')
      const { USAGE_FORMATS } = await import('../../tools/usage/formats.ts')
      const { unusedFor, usageOf } = await import('../../tools/usage/usage.ts')
      const { sizeOf } = await import('../../tools/replay/replay.ts')
      const { loadPolicy, ToolError } = await import('../../tools/load-policy.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      const window = windowOf({ since, until, maxSilence })
      const length = window.until - window.since
      if (failOn !== undefined && failOn > length) {
        const wanted = durationText(failOn)
        throw new ToolError(
          `--fail-on unused=${wanted} looks at a longer time than --since: write \`--since ${wanted}\``,
        )
      }
      const { schemas, place } = await settingsWith(flags)
      const size = await sizeOf(files)
      const resources = await loadResources(schemas)
      const loaded = await loadPolicy(place, resources)
      const kept = keep === undefined ? undefined : await readKeep(keep, loaded.files['policy.csv'])
      const usage = await withProgress('reading {bar} {percentage}% {eta_formatted} left', (bar) => {
        bar.start(size, 0)
        return usageOf({ loaded, resources, files, window, onProgress: (n) => bar.increment(n) })
      })
      const found = unusedFor(usage, failOn ?? 0)
      const stale = found.filter(({ part }) => part.kind === 'field' || !kept?.has(part.of.line))
      printReport(format, USAGE_FORMATS[format]({ usage, stale }))
      if (failOn !== undefined && stale.length > 0) setExitCode(1)
    })
}

export function declareTrim(policy: Command): void {
  withHelp(policy.command('trim'), {
    about: 'write a narrower policy without the lines, actions and views that no request of decision logs needed',
    note: `What is undecided stays (see \`policy usage\`), and so do denies, what --keep names, and what a guarantee or a matrix
expects. The new folder is then proved: the requests get the same answers, the check finds no error, the matrices are
met as before, and the diff only narrows.

Exit code: 0, or 1 if the new policy is not proven, or 2 when the command could not run.`,
    examples: ['policy trim data/decisions.log --since 90d --keep keep.yaml --out policies-narrower'],
  })
    .argument('<log...>', 'decision log files, full ones too')
    .requiredOption('--out <directory>', 'a new folder for the narrower policy')
    .addOption(KEEP)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MATRICES)
    .addOption(SINCE)
    .addOption(UNTIL)
    .addOption(MAX_SILENCE)
    .addOption(TEXT_OR_JSON)
    .action(async (files, { format, out, keep, matrices, since, until, maxSilence, ...flags }) => {
      const { isProven, TRIM_FORMATS } = await import('../../tools/usage/formats.ts')
      const { trim } = await import('../../tools/usage/trim.ts')
      const { readKeep } = await import('../../tools/usage/keep.ts')
      const { sizeOf } = await import('../../tools/replay/replay.ts')
      const { loadPolicy, refuseNoDirectory } = await import('../../tools/load-policy.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      const window = windowOf({ since, until, maxSilence })
      const { schemas, policies } = await settingsWith(flags)
      await refuseNoDirectory(policies)
      const size = await sizeOf(files)
      const resources = await loadResources(schemas)
      const loaded = await loadPolicy(policies, resources)
      const kept = keep === undefined ? new Map() : await readKeep(keep, loaded.files['policy.csv'])
      const trimmed = await withProgress('reading {bar} {percentage}% {eta_formatted} left', (bar) => {
        // Once to look for what nobody needed, and once for the proof.
        bar.start(2 * size, 0)
        const onProgress = (n: number) => bar.increment(n)
        return trim({ loaded, resources, schemas, policies, matrices, files, window, keep: kept, out, onProgress })
      })
      printReport(format, TRIM_FORMATS[format](trimmed))
      if (!isProven(trimmed.proof)) setExitCode(1)
    })
}

interface WindowFlags {
  readonly since: number | undefined
  readonly until: number | undefined
  readonly maxSilence: number
}

/** In whole seconds, for people. */
function windowOf({ since, until = Date.now(), maxSilence }: WindowFlags) {
  const end = Math.ceil(until / 1000) * 1000
  const start = Math.floor((since ?? end - 90 * DAY_MS) / 1000) * 1000
  if (start >= end)
    throw new ConfigError('--since is not before --until, which is now by default: write an earlier time')
  return { since: start, until: end, maxSilence }
}

/** Milliseconds. */
function unused(text: string): number {
  const [word, duration = ''] = text.split('=')
  if (word !== 'unused') throw new InvalidArgumentError('It is `unused=` and a duration, as in unused=180d.')
  return lifetime(duration)
}
