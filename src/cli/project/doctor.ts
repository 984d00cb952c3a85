/** sallyport doctor: what is wrong with this installation, and what mends it. */
import { environment, setExitCode } from '../../base/command-process.ts'
import type { Checked } from '../../base/problems/checked.ts'
import type { Flags } from '../../config/config.ts'
import { commandHere, withCommands } from '../../present/invocation.ts'
import { printResult } from '../../present/print.ts'
import { printable } from '../../present/quote.ts'
import { count, table } from '../../present/text.ts'
import { CliCommand, type FormatFlag, MIGRATIONS } from '../options.ts'

type DoctorFlags = Flags & FormatFlag

export function doctorCommand(): CliCommand {
  return new CliCommand('doctor')
    .description('find what is wrong with this installation, and the command that mends it')
    .option('--demo', 'for a server that serves the demo')
    .option('--port <number>', 'port to listen on (PORT, 3000)')
    .option('--workers <number>', 'number of server processes (WORKERS, 1)')
    .folders()
    .option(...MIGRATIONS)
    .formats()
    .note(`Give it the environment and the flags of \`sallyport serve\`. It changes nothing but a temporary file of its own in the
data folder, and a server may be running.
Exit code: 0 when all is well, also with warnings, 1 with a fault, 2 when the command could not run.`)
    .examples('doctor', 'doctor --demo', 'doctor --format json')
    .action(async ({ format, ...flags }: DoctorFlags) => {
      const { examineInstallation } = await import('../../tools/project/doctor/doctor.ts')
      const { policyPlace } = await import('../policy/policy-place.ts')
      const { demoFolders } = await import('../serve/demo-folders.ts')
      const { state, checks } = await examineInstallation({
        environment: environment(),
        flags: { ...flags, ...demoFolders(flags, environment()) },
        placeOf: (config) => policyPlace(config.policies, config),
      })
      const shown = checks.map((one) => withCommand(one, wordsOf(flags)))
      printResult(format, { state, checks: shown }, textOf(shown))
      if (state === 'fault') setExitCode(1)
    })
}

/** The command line of the server that would be started. */
function wordsOf({ demo, ...values }: Flags): readonly string[] {
  const named = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)])
  return ['serve', ...(demo ? ['--demo'] : []), ...named]
}

function withCommand(checked: Checked, words: readonly string[]): Checked {
  const { message, mend } = checked
  return { ...checked, message: withCommands(message), ...(mend && { mend: commandHere(mend, words) }) }
}

function textOf(checks: readonly Checked[]): string {
  const rows = checks.map(({ check, state, message, mend }) => {
    return [state, check, `${printable(message)}${mend === undefined ? '' : `: run \`${mend}\``}`]
  })
  const number = (wanted: Checked['state']) => checks.filter(({ state }) => state === wanted).length
  return `${table(rows).join('\n')}\n\n${count(number('fault'), 'fault')}, ${count(number('warning'), 'warning')}\n`
}
