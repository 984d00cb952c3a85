/** What commands say about a project, each in a process of its own, so that none of their memory stays. */
import { spawn } from 'node:child_process'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../../base/command-process.ts'
import type { PrintedReport } from './export-evidence.ts'

const PROGRAM_FILE = fileURLToPath(new URL('../../../bin/sallyport.js', import.meta.url))

const REPORTS = [
  { name: 'check', words: ['policy', 'check'] },
  { name: 'history', words: ['policy', 'history'] },
  { name: 'matrix', words: ['matrix', 'test'] },
  { name: 'access', words: ['access', 'report'] },
]
const MUTATION = { name: 'mutation', words: ['matrix', 'mutate'] }

export async function runReports(
  environment: Environment,
  { mutation }: { readonly mutation: boolean },
): Promise<readonly PrintedReport[]> {
  const found: PrintedReport[] = []
  for (const { name, words } of [...REPORTS, ...(mutation ? [MUTATION] : [])]) {
    const { exitCode, output, told } = await runCommand(words, environment)
    const report = { name, command: `sallyport ${words.join(' ')}`, exitCode, output }
    found.push(exitCode < 2 ? report : { ...report, why: lastLine(told) })
  }
  return found
}

async function runCommand(words: readonly string[], env: Environment) {
  const child = spawn(process.execPath, [PROGRAM_FILE, ...words, '--format', 'json'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => child.kill()
  // Nobody waits for it then.
  process.once('exit', end)
  const ended = new Promise<number>((done, failed) => {
    child.once('error', failed)
    child.once('close', (code) => done(code ?? 2))
  }).finally(() => process.off('exit', end))
  const [exitCode, output, told] = await Promise.all([ended, buffer(child.stdout), text(child.stderr)])
  return { exitCode, output: output.toString(), told }
}

function lastLine(told: string): string {
  return told.trim().split('\n').at(-1) ?? ''
}
