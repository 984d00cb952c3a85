/** The server's log for a person at a terminal: sentences in place of JSON. A program gets JSON (log.ts). */
import { formatDiagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { printable, quote } from '../../present/quote.ts'

const ERROR = 50
const WARNING = 40
/** What every entry has; a terminal shows one process of one machine. */
const OWN: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err', 'faults'])

/** `line`: an entry of the log as JSON. */
export function terminalText(line: string): string {
  const entry: unknown = JSON.parse(line)
  if (!isObject(entry)) return line
  const { level, time, msg, err, faults } = entry
  const at = new Date(Number(time)).toTimeString().slice(0, 'hh:mm:ss'.length)
  const details = Object.entries(entry).flatMap(([name, value]) =>
    OWN.has(name) ? [] : [`${printable(name)}=${quote(value)}`],
  )
  const head = [at, `${kindOf(Number(level))}${printable(String(msg ?? ''))}`, ...details].join('  ')
  const causes = [
    ...(isObject(err) ? [String(err.message)] : []),
    ...(Array.isArray(faults) ? faults.map(faultText) : []),
  ]
  return [head, ...causes.flatMap((cause) => cause.split('\n')).map((one) => `  ${printable(one)}`), ''].join('\n')
}

function kindOf(level: number): string {
  if (level >= ERROR) return 'error: '
  return level >= WARNING ? 'warning: ' : ''
}

/** A fault of a file, as the log of a refused policy has it. */
function faultText(fault: Parameters<typeof formatDiagnostic>[0]): string {
  return formatDiagnostic(fault)
}
