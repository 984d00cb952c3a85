/** `npm run bench`: measures the parts that are asked for, prints a table each, and writes all of it as JSON. */
import { writeFile } from 'node:fs/promises'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { BenchFailure } from './failure.ts'
import { Fixtures } from './fixture/fixtures.ts'
import { describeRun } from './machine/describe-run.ts'
import type { Bench, Part } from './parts/part.ts'
import { PARTS } from './parts/parts.ts'
import { Peers } from './peers.ts'
import type { PartResult, RunResult } from './report/result.ts'
import { judge } from './report/statistics.ts'
import { partText } from './report/table.ts'

interface Options {
  readonly peers?: string
  readonly interop?: string
  readonly only?: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly json?: string
  readonly small?: boolean
  readonly check?: boolean
}

const program = new Command('bench')
  .description('measures the server beside its peers; bench/README.md says how to read it')
  .option('--peers <folder>', 'a copy of the peers, with its packages')
  .option('--interop <folder>', 'packages/client/interop with its packages: measures Cerbos too')
  .option('--only <parts>', `some of ${PARTS.map(({ id }) => id).join(',')}`, parts)
  .option('--rounds <number>', 'how often everything is measured', whole, 5)
  .option('--seconds <number>', 'of load, each time', positive, 2)
  .option('--json <file>', 'write the results there')
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

async function measure(options: Options): Promise<void> {
  const result = await run(options)
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(result, null, 1)}\n`)
  const missed = result.parts.flatMap((part) => part.targets).filter((target) => !judge(target).met)
  if (options.check && missed.length > 0) process.exitCode ??= 1
}

async function run({ peers: folder, interop, only, rounds, seconds, small = false }: Options): Promise<RunResult> {
  const settings = { rounds, seconds, small }
  const described = await describeRun(settings)
  const fixtures = new Fixtures()
  const peers = folder === undefined ? undefined : await Peers.open(folder)
  const results: PartResult[] = []
  for (const part of PARTS.filter(({ id }) => !only || only.includes(id))) {
    const tell = (text: string) => process.stderr.write(`${part.id}: ${text}\n`)
    const result = await measured(part, { settings, fixtures, peers, interop, tell })
    process.stdout.write(`## ${result.title}\n\n${result.method}\n\n${partText(result)}\n\n`)
    results.push(result)
  }
  return { ...described, seconds: Math.round(performance.now() / 1000), parts: results }
}

/** What fails leaves out its part alone: the others took minutes, or will. */
async function measured(part: Part, bench: Bench): Promise<PartResult> {
  try {
    return await part.measure(bench)
  } catch (error) {
    if (!(error instanceof BenchFailure)) throw error
    process.stderr.write(`bench: ${error.message}\n`)
    process.exitCode = 2
    return { id: part.id, title: part.id, method: '', rows: [], targets: [], leftOut: [error.message] }
  }
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
