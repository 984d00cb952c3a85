/** sallyport matrix … */
import type { Command } from 'commander'
import { type MatrixSettings, matrixCommand } from '../cli/matrix-command.ts'
import type { ReviewFolders } from '../cli/policy-command.ts'
import { readConfig } from '../config.ts'
import type { StartTrialServer } from '../matrix/run/trial-stage.ts'
import { oneOrAll } from './one-or-all.ts'

const folders: ReviewFolders = () => readConfig(process.env)
const startTrial: StartTrialServer = async (folders) => (await import('../trial-server.ts')).startTrialServer(folders)

const matrixSettings: MatrixSettings = () => {
  const { policies, schemas, dataDirectory, tokens } = readConfig(process.env)
  return { policies, schemas, data: dataDirectory, issuer: tokens.issuer, audience: tokens.audience }
}

const COMMANDS = {
  test: async () => (await import('../cli/matrix-test-command.ts')).matrixTestCommand(matrixSettings, startTrial),
  init: async () => (await import('../cli/matrix-init-command.ts')).matrixInitCommand(folders),
  coverage: async () => (await import('../cli/matrix-coverage-command.ts')).matrixCoverageCommand(folders),
  mutate: async () => (await import('../cli/matrix-mutate-command.ts')).matrixMutateCommand(folders),
  attack: async () => (await import('../cli/matrix-attack-command.ts')).matrixAttackCommand(matrixSettings, startTrial),
}

export async function program(word?: string): Promise<Command> {
  return matrixCommand(await oneOrAll(COMMANDS, word))
}
