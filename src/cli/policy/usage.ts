/** sallyport policy usage: what the requests of decision logs needed of a policy, and what nobody needed. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { durationText } from '../../base/time.ts'
import { printReport } from '../../present/print.ts'
import { formats, lifetime, POLICIES, SCHEMAS, SINCE, settingsWith, UNTIL, withHelp } from '../options.ts'
import { withProgress } from '../progress.ts'

const DAY_MS = 86_400_000

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
    .addOption(
      new Option('--max-silence <duration>', 'so long without a record is quiet; longer, records are missing')
        .argParser(lifetime)
        .default(DAY_MS, '1d'),
    )
    .addOption(
      new Option('--fail-on <unused=duration>', 'exit with 1 for grants that nobody needed for so long').argParser(
        unused,
      ),
    )
    .addOption(formats('text', 'json', 'sarif'))
    .action(async (files, { format, maxSilence, failOn, since, until: end = Date.now(), ...flags }) => {
      const { USAGE_FORMATS } = await import('../../tools/usage/formats.ts')
      const { unusedFor, usageOf } = await import('../../tools/usage/usage.ts')
      const { sizeOf } = await import('../../tools/replay/replay.ts')
      const { loadPolicy, ToolError } = await import('../../tools/load-policy.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      // In whole seconds, for people.
      const until = Math.ceil(end / 1000) * 1000
      const window = { since: Math.floor((since ?? until - 90 * DAY_MS) / 1000) * 1000, until, maxSilence }
      const length = until - window.since
      if (length <= 0) throw new ToolError('--since is after --until: write an earlier time')
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
      const usage = await withProgress('reading {bar} {percentage}% {eta_formatted} left', (bar) => {
        bar.start(size, 0)
        return usageOf({ loaded, resources, files, window, onProgress: (n) => bar.increment(n) })
      })
      const stale = unusedFor(usage, failOn ?? 0)
      printReport(format, USAGE_FORMATS[format]({ usage, stale }))
      if (failOn !== undefined && stale.length > 0) setExitCode(1)
    })
}

/** Milliseconds. */
function unused(text: string): number {
  const [word, duration = ''] = text.split('=')
  if (word !== 'unused') throw new InvalidArgumentError('It is `unused=` and a duration, as in unused=180d.')
  return lifetime(duration)
}
