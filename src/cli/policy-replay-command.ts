/** sallyport policy replay: logged requests, decided again under a candidate. */
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError, Option } from 'commander'
import { print } from '../present/print.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import { ReviewError } from '../tools/load-policy.ts'
import { openCandidate } from '../tools/replay/candidate.ts'
import { formatJson } from '../tools/replay/format-json.ts'
import { formatText } from '../tools/replay/format-text.ts'
import { sizeOf } from '../tools/replay/read-log.ts'
import { type ReplayReport, replay } from '../tools/replay/replay.ts'
import type { ReviewFolders } from './policy-command.ts'
import { readMoment, SINCE, UNTIL } from './record-options.ts'

const FORMATS = { text: formatText, json: formatJson } as const

interface Options {
  readonly candidate?: string
  readonly policies?: string
  readonly schemas?: string
  readonly format: keyof typeof FORMATS
  readonly since?: number
  readonly until?: number
  readonly examples: number
}

const HELP = `
LOG is a decision log, or several, oldest first. Without --candidate the requests are decided under the policy
files as they are now, which tells whether the log's answers are still theirs.
Exit code: 0 when every request that can be decided again would be answered the same, 1 for differences, 2 when it
could not run or none could be decided again. How many could not be decided again, and why, stands beneath the first line.

  sallyport policy replay data/decisions.log --candidate policies-new
`

export function policyReplayCommand(folders: ReviewFolders): Command {
  return new Command('replay')
    .description('decide logged requests again under a candidate, and show what differs')
    .argument('<log...>', 'decision logs')
    .option('--candidate <dir>', 'policy files to decide by')
    .option('--policies <dir>', 'policy files when there is no candidate (POLICIES, policies)')
    .option('--schemas <dir>', 'schema files (SCHEMAS, schemas)')
    .option(...SINCE, readMoment)
    .option(...UNTIL, readMoment)
    .option('--examples <number>', 'request ids shown of each difference', readCount, 3)
    .addOption(new Option('--format <format>', 'how to tell it').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', HELP)
    .action(async (files: readonly string[], options: Options) => {
      const report = await run(files, { ...folders(), ...options })
      print(FORMATS[options.format](report))
      if (report.groups.length > 0) process.exitCode = 1
      refuseNothingDecided(report)
    })
}

/** That nothing differs would be true, and would tell nothing of the candidate. Throws ReviewError. */
function refuseNothingDecided({ decided, undecidable }: ReplayReport): void {
  const count = [...undecidable.values()].reduce((total, one) => total + one, 0)
  if (decided > 0 || count === 0) return
  throw new ReviewError(
    `none of ${count} requests could be decided again; name a log whose records hold what that needs`,
  )
}

/** Throws FileError and ReviewError. */
async function run(
  files: readonly string[],
  { candidate, policies, schemas, since, until, examples }: Options & { policies: string; schemas: string },
): Promise<ReplayReport> {
  const size = await sizeOf(files)
  const bench = await openCandidate(candidate ?? policies, await loadResources(schemas))
  const bar = new SingleBar({ format: 'replaying {bar} {percentage}% {eta_formatted} left', noTTYOutput: false })
  bar.start(size, 0)
  const window = { since: since ?? Number.NEGATIVE_INFINITY, until: until ?? Number.POSITIVE_INFINITY }
  try {
    const report = await replay(bench, { files, ...window, maxExamples: examples, onProgress: (n) => bar.increment(n) })
    refuseOtherFiles(files, report)
    return report
  } finally {
    bar.stop()
  }
}

/** Some other file is no log under which nothing differs. A log that is empty, or torn in places, is one. */
function refuseOtherFiles(files: readonly string[], report: ReplayReport): void {
  const { decided, unconcerned, undecidable, leftOut, otherLines } = report
  if (otherLines === 0 || decided + unconcerned + leftOut + undecidable.size > 0) return
  throw new ReviewError(`${files.join(', ')} holds no decision record; name decision logs`)
}

function readCount(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0 to 9999.')
  return Number(text)
}
