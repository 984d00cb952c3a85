/** What a reader must know to repeat a run: the code, the machine, the command. */
import { execFile } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { promisify } from 'node:util'
import type { RunResult } from '../report/result.ts'
import { pins } from './processes.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export async function describeRun(settings: RunResult['settings']): Promise<Omit<RunResult, 'parts' | 'seconds'>> {
  const all = cpus()
  return {
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    began: new Date().toISOString(),
    revision: await revision(),
    node: process.version,
    machine: {
      system: `${type()} ${release()}`,
      cpu: all[0]?.model ?? 'unknown',
      cpus: all.length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      pinned: pins(),
      loadBefore: loadavg()[0] ?? 0,
    },
    settings,
  }
}

async function revision(): Promise<string> {
  const git = async (...args: string[]) => (await promisify(execFile)('git', args, { cwd: ROOT })).stdout.trim()
  try {
    const changed = await git('status', '--porcelain', '--untracked-files=no')
    return `${await git('rev-parse', '--short=12', 'HEAD')}${changed === '' ? '' : '+'}`
  } catch {
    return 'unknown'
  }
}
