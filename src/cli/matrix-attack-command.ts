/** sallyport matrix attack */
import { SingleBar } from 'cli-progress'
import { type Command, Option } from 'commander'
import { printReport } from '../present/print.ts'
import { attackAll } from '../tools/matrix/attack/attack-all.ts'
import { type AttackRun, isHeld, toJson, toText } from '../tools/matrix/attack/attack-report.ts'
import { openTargetPool, type TargetOptions } from '../tools/matrix/target/open-targets.ts'
import type { StartTrialServer } from '../tools/matrix/target/trial-target.ts'
import { interrupted, type MatrixSettings, newTargetCommand, type TargetFlags } from './matrix-command.ts'

interface Flags extends TargetFlags {
  readonly resource: readonly string[]
  readonly format: keyof typeof FORMATS
}

const FORMATS = { text: toText, json: toJson } as const

const HELP = `
Each request that a role may make about an object of its own is made by every other role and without credentials, with the
ids of others in path, query and body. What each caller reaches is compared with the policy files.
Exit code: 0 when it is what they say, 1 when not (or when something could not be tried), 2 when it could not run.

Examples:
  sallyport matrix attack --resource orders`

export function matrixAttackCommand(settings: MatrixSettings, startServer: StartTrialServer): Command {
  return newTargetCommand('attack')
    .description('make the requests of one role as every other, and show what differs from the policy')
    .option('--resource <name...>', 'only this resource; repeat for more', [])
    .addOption(new Option('--format <format>', 'how to print it').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      const run = await attackWithProgress({ ...settings(), ...flags }, startServer)
      printReport(flags.format, FORMATS[flags.format](run))
      if (!isHeld(run) || run.remarks.some((remark) => remark.startsWith('The run ended early'))) process.exitCode = 1
    })
}

async function attackWithProgress(flags: Flags & TargetOptions, startServer: StartTrialServer): Promise<AttackRun> {
  const bar = new SingleBar({ format: 'attacking {bar} {value} of {total}, {found} findings', noTTYOutput: false })
  let found = 0
  try {
    return await attackAll({
      ...flags,
      resources: flags.resource,
      signal: interrupted(),
      openTargets: (ground) => openTargetPool(ground, flags, startServer),
      started: (total) => bar.start(total, 0, { found }),
      observe: ({ outcome }) => {
        if (outcome === 'different') found++
        bar.increment({ found })
      },
    })
  } finally {
    bar.stop()
  }
}
