/** sallyport matrix … */
import type { Command } from 'commander'
import { matrixAttackCommand } from '../cli/matrix-attack-command.ts'
import { type MatrixSettings, matrixCommand } from '../cli/matrix-command.ts'
import { matrixCoverageCommand } from '../cli/matrix-coverage-command.ts'
import { matrixInitCommand } from '../cli/matrix-init-command.ts'
import { matrixMutateCommand } from '../cli/matrix-mutate-command.ts'
import { matrixTestCommand } from '../cli/matrix-test-command.ts'
import type { ReviewFolders } from '../cli/policy-command.ts'
import { readConfig } from '../config.ts'
import type { StartTrialServer } from '../matrix/run/trial-stage.ts'

const folders: ReviewFolders = () => readConfig(process.env)
const startTrial: StartTrialServer = async (folders) => (await import('../trial-server.ts')).startTrialServer(folders)

const matrixSettings: MatrixSettings = () => {
  const { policies, schemas, dataDirectory, tokens } = readConfig(process.env)
  return { policies, schemas, data: dataDirectory, issuer: tokens.issuer, audience: tokens.audience }
}

export function program(): Command {
  return matrixCommand([
    matrixTestCommand(matrixSettings, startTrial),
    matrixInitCommand(folders),
    matrixCoverageCommand(folders),
    matrixMutateCommand(folders),
    matrixAttackCommand(matrixSettings, startTrial),
  ])
}
