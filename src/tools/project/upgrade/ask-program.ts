/** Asks an installed program, old or new, in a process of its own. It is told to write nothing. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { environment } from '../../../base/command-process.ts'
import { printable } from '../../../present/quote.ts'
import type { AnswerBounds, ProgramPackage } from './sides.ts'

export type ProgramAnswer = { readonly value: unknown } | { readonly failure: string }

const MOST_CHARACTERS = 500

/** What a command prints as JSON. Exit codes 0 and 1 are answers. Beyond its bounds, the program is killed. */
export function askProgram(
  { root, version }: ProgramPackage,
  words: readonly string[],
  { milliseconds, bytes }: AnswerBounds,
): Promise<ProgramAnswer> {
  const args = [join(root, 'bin/sallyport.js'), ...words, '--format', 'json']
  // Compiled code would be kept in the project's node_modules.
  const env = { ...environment(), NODE_DISABLE_COMPILE_CACHE: '1', NO_COLOR: '1' }
  const options = { env, maxBuffer: bytes, timeout: milliseconds, killSignal: 'SIGKILL' } as const
  const name = `\`${words.slice(0, 2).join(' ')}\` of ${version}`
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') {
        return resolve({ failure: `${name} printed more than ${bytes} bytes` })
      }
      if (error?.killed) return resolve({ failure: `${name} gave no answer in ${milliseconds / 1000} s` })
      if (error && error.code !== 1) return resolve({ failure: `${name} failed: ${reasonIn(stderr)}` })
      resolve(readJson(name, stdout))
    })
    child.stdin?.end()
  })
}

function reasonIn(stderr: string): string {
  const [line = ''] = stderr.split('\n').filter((one) => one.trim() !== '')
  const text = printable(line.replace(/^sallyport: /, ''))
  return text === '' ? 'it gave no reason' : text.slice(0, MOST_CHARACTERS)
}

function readJson(name: string, text: string): ProgramAnswer {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { failure: `${name} printed no JSON` }
  }
}
