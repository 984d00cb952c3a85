/** sallyport matrix mutate */
import { SingleBar } from 'cli-progress'
import { Command, InvalidArgumentError, Option } from 'commander'
import { printReport } from '../present/print.ts'
import { formatJson } from '../tools/matrix/mutate/format-json.ts'
import { formatText } from '../tools/matrix/mutate/format-text.ts'
import { OPERATORS, type Operator } from '../tools/matrix/mutate/mutants.ts'
import { type Mutation, mutate, scoreOf } from '../tools/matrix/mutate/mutate.ts'
import { readPredictedSuite } from '../tools/matrix/predict/suite.ts'
import { percent, type ReviewFolders } from './options.ts'

interface Flags {
  readonly policies?: string
  readonly schemas?: string
  readonly min: number
  readonly only: readonly Operator[]
  readonly format: keyof typeof FORMATS
}

const FORMATS = { text: formatText, json: formatJson } as const

const HELP = `
Makes a copy of the policy for each mistake that people make, and tells which of them no expectation notices.
Nothing is written, and no server is asked.

Mistakes:
${Object.entries(OPERATORS)
  .map(([name, meaning]) => `  ${name.padEnd(18)} ${meaning}`)
  .join('\n')}

Exit code: 0 when at least --min percent of the mistakes are noticed, 1 when not, 2 when it could not run.

Examples:
  sallyport matrix mutate --only drop-deny`

export function matrixMutateCommand(folders: ReviewFolders): Command {
  return new Command('mutate')
    .description('make the mistakes that people make, and show those that no expectation notices')
    .argument('[paths...]', 'matrices', ['test/matrix'])
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--min <percent>', 'how many of the mistakes must be noticed', percent, 100)
    .addOption(
      new Option('--only <operator>', 'this kind of mistake; repeat for more')
        .default([])
        .argParser((text: string, before: readonly Operator[]) => [...before, operator(text)]),
    )
    .addOption(new Option('--format <format>', 'how to print it').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: Flags) => {
      const mutation = await mutateWithProgress({ ...folders(), ...flags, matrices: paths })
      printReport(flags.format, FORMATS[flags.format](mutation))
      if (scoreOf(mutation) < flags.min) process.exitCode = 1
    })
}

async function mutateWithProgress(
  flags: Flags & { readonly policies: string; readonly schemas: string; readonly matrices: readonly string[] },
): Promise<Mutation> {
  const bench = await readPredictedSuite(flags, Date.now())
  const bar = new SingleBar({ format: 'mutating {bar} {value} of {total}', noTTYOutput: false })
  const only = flags.only.length > 0 ? new Set(flags.only) : undefined
  try {
    return mutate(bench, { only, observe: (done, of) => (done === 0 ? bar.start(of, 0) : bar.update(done)) })
  } finally {
    bar.stop()
  }
}

function operator(text: string): Operator {
  if (Object.hasOwn(OPERATORS, text)) return text as Operator
  throw new InvalidArgumentError(`It must be one of ${Object.keys(OPERATORS).join(', ')}.`)
}
