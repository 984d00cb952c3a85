/** A workflow's run as a step sees it: the environment and the files that GitHub gives it, around a real repository. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ran } from '../project/projects.ts'
import { type Repository, sallyportIn } from './repository.ts'

export interface JobRun extends Ran {
  readonly summary: string
  readonly outputs: Readonly<Record<string, string>>
}

export interface Job {
  readonly env: NodeJS.ProcessEnv
  /** What the steps wrote until now. */
  written(ran: Ran): Promise<JobRun>
}

/** `event`: what GITHUB_EVENT_PATH has. */
export async function openJob(
  { folder, env, git }: Repository,
  { api, name = 'pull_request', event }: { readonly api: string; readonly name?: string; readonly event: unknown },
): Promise<Job> {
  const temp = await mkdtemp(join(folder, '.git/runner-'))
  const [path, output, summary] = ['event.json', 'output', 'summary'].map((file) => join(temp, file))
  await writeFile(path as string, JSON.stringify(event))
  const told = {
    GITHUB_ACTIONS: 'true',
    GITHUB_API_URL: api,
    GITHUB_EVENT_NAME: name,
    GITHUB_EVENT_PATH: path,
    GITHUB_OUTPUT: output,
    GITHUB_REPOSITORY: 'acme/api',
    GITHUB_SHA: git('rev-parse', 'HEAD').trim(),
    GITHUB_STEP_SUMMARY: summary,
    GITHUB_TOKEN: 'a-token-of-the-job',
    GITHUB_WORKSPACE: folder,
    RUNNER_TEMP: temp,
  }
  const read = (file = '') => readFile(file, 'utf8').catch(() => '')
  return {
    env: { ...env, ...told },
    written: async (ran) => {
      const lines = (await read(output)).split('\n').filter(Boolean)
      const outputs = Object.fromEntries(
        lines.map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]),
      )
      return { ...ran, summary: await read(summary), outputs }
    },
  }
}

/** Runs `sallyport ci github` in the project. */
export async function runJob(
  one: Repository,
  asked: Parameters<typeof openJob>[1],
  ...flags: readonly string[]
): Promise<JobRun> {
  const job = await openJob(one, asked)
  return job.written(await sallyportIn(one.project, job.env, 'ci', 'github', ...flags))
}

/** Commits everything on `main`, then what `change` does on a branch, and checks out the merge of it, as GitHub does. */
export async function pullRequest(one: Repository, change: () => Promise<unknown>): Promise<unknown> {
  const { git } = one
  git('add', '.')
  git('commit', '-qm', 'base', '--allow-empty')
  const sha = git('rev-parse', 'HEAD').trim()
  git('checkout', '-qb', 'change')
  await change()
  git('add', '.')
  git('commit', '-qm', 'change', '--allow-empty')
  git('checkout', '-q', '--detach', 'main')
  git('merge', '-q', '--no-ff', '-m', 'merge', 'change')
  return { pull_request: { number: 7, base: { sha } } }
}
