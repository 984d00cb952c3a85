/** Programs of others that the bench starts. */
import { accessSync, constants, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { BenchFailure } from '../failure.ts'

/** Program -> the Debian package that has it. */
const PACKAGES: Readonly<Record<string, string>> = {
  wrk: 'wrk',
  'redis-server': 'redis-server',
  taskset: 'util-linux',
  initdb: 'postgresql',
  postgres: 'postgresql',
}

export function isInstalled(program: string): boolean {
  return find(program) !== undefined
}

/** Throws BenchFailure. */
export function need(program: string): void {
  pathOf(program)
}

/** Throws BenchFailure for a program that is missing. */
export function pathOf(program: string): string {
  const path = find(program)
  if (path !== undefined) return path
  throw new BenchFailure(`\`${program}\` is missing; install it, on Debian with \`apt install ${PACKAGES[program]}\``)
}

/** Debian doesn't put PostgreSQL's programs on the path. */
function find(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...globSync('/usr/lib/postgresql/*/bin')]
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
