/** `npm run bench`: reads the options, lets the parts be measured, and says by its exit code how it went. */
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { BenchFailure } from './failure.ts'
import { type RunOptions, runParts } from './parts/all.ts'
import { PARTS } from './parts/parts.ts'
import { judge } from './report/statistics.ts'

interface Options extends RunOptions {
  readonly check?: boolean
}

const program = new Command('bench')
  .description('measures the server beside its peers; bench/README.md says how to read it')
  .option('--only <parts>', `some of ${PARTS.map(({ id }) => id).join(',')}`, parts)
  .option('--rounds <number>', 'how often everything is measured', whole, 10)
  .option('--seconds <number>', 'of load, each time', positive, 0.8)
  .option('--no-peers', 'leave the peers out')
  .option('--json <file>', 'write the results there, after each part')
  .option('--keep', 'keep the parts of that file that this run does not measure')
  .option('--check', 'exit 1 when a target is missed')
  .option('--small', 'small sizes, which try the bench itself out')
  .exitOverride()
  .action(measure)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof BenchFailure) process.stderr.write(`bench: ${error.message}\n`)
  else if (!(error instanceof CommanderError)) throw error
  process.exitCode = error instanceof CommanderError && error.exitCode === 0 ? 0 : 2
}

async function measure({ check, ...options }: Options): Promise<void> {
  const { parts: measured, failed } = await runParts(options)
  const missed = measured.flatMap(({ targets }) => targets).filter((target) => !judge(target).met)
  if (failed) process.exitCode = 2
  else if (check && missed.length > 0) process.exitCode = 1
}

function parts(text: string): readonly string[] {
  const names = text.split(',')
  const unknown = names.find((name) => !PARTS.some(({ id }) => id === name))
  if (unknown === undefined) return names
  throw new InvalidArgumentError(`\`${unknown}\` is none of ${PARTS.map(({ id }) => id).join(', ')}.`)
}

function whole(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number of at least 1.')
}

function positive(text: string): number {
  if (/^\d{1,4}(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text)
  throw new InvalidArgumentError('It must be a number greater than 0.')
}
