/** Programs of others that the bench starts. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { BenchFailure } from '../failure.ts'

/** Program -> the Debian package that has it. */
const PACKAGES: Readonly<Record<string, string>> = {
  wrk: 'wrk',
  'redis-server': 'redis-server',
  taskset: 'util-linux',
}

export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, program)))
}

/** Throws BenchFailure. */
export function need(program: string): void {
  if (isInstalled(program)) return
  throw new BenchFailure(`\`${program}\` is missing; install it, on Debian with \`apt install ${PACKAGES[program]}\``)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
