/** sallyport policy … */
import type { Command } from 'commander'
import { policyCommand, type ReleaseFolders } from '../cli/policy-command.ts'
import { readConfig } from '../config.ts'
import { oneOrAll } from './one-or-all.ts'
import { openDirectory } from './open-directory.ts'

const folders: ReleaseFolders = () => readConfig(process.env)

const COMMANDS = {
  check: async () => (await import('../cli/policy-check-command.ts')).policyCheckCommand(folders),
  explain: async () => {
    const { policyExplainCommand } = await import('../cli/policy-explain-command.ts')
    return policyExplainCommand(folders, {
      databaseFile: () => readConfig(process.env).databaseFile,
      past: () => {
        const { decisionLog, dataDirectory } = readConfig(process.env)
        return { log: decisionLog.file, dataDirectory }
      },
    })
  },
  matrix: async () => (await import('../cli/policy-matrix-command.ts')).policyMatrixCommand(folders),
  diff: async () => (await import('../cli/policy-diff-command.ts')).policyDiffCommand(folders),
  replay: async () => (await import('../cli/policy-replay-command.ts')).policyReplayCommand(folders),
  apply: async () => (await import('../cli/policy-apply-command.ts')).policyApplyCommand(folders),
  rollback: async () => (await import('../cli/policy-rollback-command.ts')).policyRollbackCommand(folders),
  promote: async () => {
    const { policyPromoteCommand } = await import('../cli/policy-promote-command.ts')
    return policyPromoteCommand(folders, () => readConfig(process.env).policyCandidate)
  },
  history: async () => (await import('../cli/policy-history-command.ts')).policyHistoryCommand(folders),
  block: async () => (await import('../cli/policy-block-command.ts')).policyBlockCommand(folders, openDirectory),
  unblock: async () => (await import('../cli/policy-unblock-command.ts')).policyUnblockCommand(folders, openDirectory),
}

export async function program(word?: string): Promise<Command> {
  return policyCommand(await oneOrAll(COMMANDS, word))
}
