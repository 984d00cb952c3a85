/** sallyport policy … */
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { policyCommand, type ReleaseFolders } from '../policy-command.ts'
import { oneOrAll } from './one-or-all.ts'
import { openDirectory } from './open-directory.ts'

const folders: ReleaseFolders = () => readConfig(process.env)

const COMMANDS = {
  check: async () => (await import('../policy-check-command.ts')).policyCheckCommand(folders),
  explain: async () => {
    const { policyExplainCommand } = await import('../policy-explain-command.ts')
    return policyExplainCommand(folders, {
      database: () => readConfig(process.env).database,
      past: () => {
        const { decisionLog, dataDirectory } = readConfig(process.env)
        return { log: decisionLog.file, dataDirectory }
      },
    })
  },
  matrix: async () => (await import('../policy-matrix-command.ts')).policyMatrixCommand(folders),
  diff: async () => (await import('../policy-diff-command.ts')).policyDiffCommand(folders),
  replay: async () => (await import('../policy-replay-command.ts')).policyReplayCommand(folders),
  apply: async () => (await import('../policy-apply-command.ts')).policyApplyCommand(folders),
  rollback: async () => (await import('../policy-rollback-command.ts')).policyRollbackCommand(folders),
  promote: async () => {
    const { policyPromoteCommand } = await import('../policy-promote-command.ts')
    return policyPromoteCommand(folders, () => readConfig(process.env).policyCandidate)
  },
  history: async () => (await import('../policy-history-command.ts')).policyHistoryCommand(folders),
  block: async () => (await import('../policy-block-command.ts')).policyBlockCommand(folders, openDirectory),
  unblock: async () => (await import('../policy-unblock-command.ts')).policyUnblockCommand(folders, openDirectory),
}

export async function program(word?: string): Promise<Command> {
  return policyCommand(await oneOrAll(COMMANDS, word))
}
