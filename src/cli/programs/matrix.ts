/** sallyport matrix … */
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import type { StartTrialServer } from '../../tools/matrix/target/trial-target.ts'
import { type MatrixSettings, matrixCommand } from '../matrix-command.ts'
import type { ReviewFolders } from '../options.ts'
import { oneOrAll } from './one-or-all.ts'

const folders: ReviewFolders = () => readConfig(process.env)
const startTrial: StartTrialServer = async (folders) =>
  (await import('../../server/trial-server.ts')).startTrialServer(folders)

const matrixSettings: MatrixSettings = () => {
  const { policies, schemas, dataDirectory, tokens } = readConfig(process.env)
  return { policies, schemas, data: dataDirectory, issuer: tokens.issuer, audience: tokens.audience }
}

const COMMANDS = {
  test: async () => (await import('../matrix-test-command.ts')).matrixTestCommand(matrixSettings, startTrial),
  init: async () => (await import('../matrix-init-command.ts')).matrixInitCommand(folders),
  coverage: async () => (await import('../matrix-coverage-command.ts')).matrixCoverageCommand(folders),
  mutate: async () => (await import('../matrix-mutate-command.ts')).matrixMutateCommand(folders),
  attack: async () => (await import('../matrix-attack-command.ts')).matrixAttackCommand(matrixSettings, startTrial),
}

export async function program(word?: string): Promise<Command> {
  return matrixCommand(await oneOrAll(COMMANDS, word))
}
