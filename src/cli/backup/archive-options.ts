/** What the commands about archives share: the key file, and the answer to damage. */
import { setExitCode } from '../../base/command-process.ts'
import { printResult, tellProblem } from '../../present/print.ts'
import type { TextOrJson } from '../options.ts'

export const IDENTITY = ['--identity <file>', 'the key file of an encrypted archive'] as const

export interface IdentityFlag {
  readonly identity?: string
}

/** Tells the faults on one line each, and sets the exit code for findings. */
export function damage(format: TextOrJson, file: string, faults: readonly string[]): void {
  setExitCode(1)
  if (format === 'json') printResult(format, { file, whole: false, faults }, '')
  else tellProblem(`sallyport: the archive \`${file}\` is damaged: ${faults.join('; ')}\n`)
}
