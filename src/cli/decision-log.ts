/** The decision log that a command line names. */
import { Argument } from 'commander'
import { environment } from '../base/command-process.ts'
import { readConfig } from '../config/config.ts'
import { filesOfLog } from '../decision-log/log-files.ts'

export const LOG = new Argument('[log]', 'decision log file (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')

/** Throws ToolError, like `existing`. */
export async function named(given: string | undefined): Promise<string> {
  const log = given ?? readConfig(environment()).decisionLog.file
  if (log !== undefined) return log
  return refuse('the decision log goes to standard output (DECISION_LOG_FILE is -): name a log file')
}

export async function existing(log: string | undefined): Promise<string> {
  const file = await named(log)
  return (await filesOfLog(file)).length > 0 ? file : refuse(`there is no decision log ${file}: name another file`)
}

async function refuse(message: string): Promise<never> {
  const { ToolError } = await import('../tools/load-policy.ts')
  throw new ToolError(message)
}
