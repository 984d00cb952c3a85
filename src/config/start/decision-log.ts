/** The file of the decision log, which can't be written, or isn't one. */
import { mendOfPath } from '../../base/files/mend-path.ts'
import { againWith, shellWord } from '../../base/problems/mend.ts'
import { NotALog } from '../../decision-log/log-file.ts'
import { ConfigError } from '../values.ts'

export function decisionLogFault(file: string, error: unknown): ConfigError {
  if (error instanceof NotALog) {
    const fault = `${error.message}; set DECISION_LOG_FILE to another file, or to - for standard output`
    return new ConfigError(fault, `mv ${shellWord(file)} ${shellWord(`${file}.before`)}`)
  }
  const { code } = error as NodeJS.ErrnoException
  return new ConfigError(
    `the decision log ${file} can't be written (${code}); set DECISION_LOG_FILE to another file`,
    mendOfPath(file, code === 'EISDIR' ? 'EEXIST' : code) ?? againWith('DECISION_LOG_FILE', '-'),
  )
}
