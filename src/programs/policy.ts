/** sallyport policy … */
import type { Command } from 'commander'
import { policyApplyCommand } from '../cli/policy-apply-command.ts'
import { policyBlockCommand } from '../cli/policy-block-command.ts'
import { policyCheckCommand } from '../cli/policy-check-command.ts'
import { policyCommand, type ReviewFolders } from '../cli/policy-command.ts'
import { policyDiffCommand } from '../cli/policy-diff-command.ts'
import { policyExplainCommand } from '../cli/policy-explain-command.ts'
import { policyHistoryCommand } from '../cli/policy-history-command.ts'
import { policyMatrixCommand } from '../cli/policy-matrix-command.ts'
import { policyPromoteCommand } from '../cli/policy-promote-command.ts'
import { policyReplayCommand } from '../cli/policy-replay-command.ts'
import { policyRollbackCommand } from '../cli/policy-rollback-command.ts'
import { policyUnblockCommand } from '../cli/policy-unblock-command.ts'
import { readConfig } from '../config.ts'

const folders: ReviewFolders = () => readConfig(process.env)

export function program(): Command {
  return policyCommand([
    policyCheckCommand(folders),
    policyExplainCommand(folders, () => readConfig(process.env).databaseFile),
    policyMatrixCommand(folders),
    policyDiffCommand(folders),
    policyReplayCommand(folders),
    policyApplyCommand(folders),
    policyRollbackCommand(folders),
    policyPromoteCommand(folders, () => readConfig(process.env).policyCandidate),
    policyHistoryCommand(folders),
    policyBlockCommand(folders),
    policyUnblockCommand(folders),
  ])
}
