/** action.yml: what GitHub takes, and each of its scripts, run in bash as GitHub runs them. */
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { ranIn } from '../project/projects.ts'
import { type CommentsApi, startCommentsApi } from './comments-api.ts'
import { type Job, type JobRun, openJob, pullRequest } from './job.ts'
import { openRepository, type Repository } from './repository.ts'
import { actionFaults, unsafeSteps } from './valid.ts'

const ROOT = new URL('../..', import.meta.url).pathname

interface ActionStep {
  readonly name: string
  readonly id?: string
  readonly run?: string
  readonly uses?: string
  readonly env?: Readonly<Record<string, string>>
}

type Inputs = Readonly<Record<string, string>>

describe('action.yml', () => {
  let text: string
  let action: {
    readonly inputs: Readonly<Record<string, { readonly default: string }>>
    readonly outputs: Readonly<Record<string, { readonly value: string }>>
    readonly runs: { readonly steps: readonly ActionStep[] }
  }
  before(async () => {
    text = await readFile(join(ROOT, 'action.yml'), 'utf8')
    action = parse(text)
  })

  it("follows GitHub's schema", async () => {
    expect(await actionFaults(text)).to.deep.equal([])
    expect((await actionFaults(text.replace('shell: bash', 'shel: bash'))).join()).to.include("Unexpected value 'shel'")
  })

  it('runs only what is pinned by a full commit hash, and puts no words of others into a script', () => {
    expect(unsafeSteps(action.runs.steps)).to.deep.equal([])
    expect(unsafeSteps([{ uses: 'actions/setup-node@v6' }, { run: `echo \${{ inputs.base }}` }])).to.have.length(2)
    expect(text).to.match(/upload-sarif@[0-9a-f]{40} # v/)
  })

  it('uses each of its inputs, and no other, and the page tells of them', () => {
    const used = new Set([...text.matchAll(/inputs\.([\w-]+)/g)].map(([, name]) => name))
    expect([...used].sort()).to.deep.equal(Object.keys(action.inputs).sort())
    const page = readFileSync(join(ROOT, 'docs/new-project.md'), 'utf8')
    expect(Object.keys(action.inputs).filter((name) => !page.includes(`\`${name}\``))).to.deep.equal([])
  })

  describe('in a workflow', () => {
    let one: Repository
    let api: CommentsApi
    let job: Job
    beforeEach(async () => {
      api = await startCommentsApi()
      one = await openRepository('apps/my api')
      const event = await pullRequest(one, () => one.openHole())
      job = await openJob(one, { api: api.url, event })
    })
    afterEach(async () => {
      await api.close()
      await one.remove()
    })

    it('tells a hole by the installed program, with every output that it declares', async () => {
      const { code, outputs } = await play('judge', { 'min-coverage': '100', 'min-rules': '10' })
      expect(code).to.equal(1)
      expect(api.comments).to.have.length(1)
      const declared = Object.values(action.outputs).map(({ value }) => /outputs\.([\w-]+) /.exec(value)?.[1])
      expect(Object.keys(outputs)).to.include.members(declared)
      expect(existsSync(outputs.sarif ?? '')).to.equal(true)
      expect(outputs['coverage-exit-code']).to.equal('0')
    })

    it('runs nothing of the project where a version is named', async () => {
      const modules = join(job.env.RUNNER_TEMP ?? '', 'sallyport/node_modules')
      await mkdir(modules, { recursive: true })
      await symlink(ROOT, join(modules, 'sallyport'))
      await writeFile(join(one.project, 'node_modules/.bin/sallyport'), '#!/bin/sh\ntouch "$RUNNER_TEMP/planted"\n')
      const { code } = await play('judge', { version: '1.2.3', comment: 'false', sarif: 'false' })
      expect([code, api.comments.length, existsSync(join(job.env.RUNNER_TEMP ?? '', 'planted'))]).to.deep.equal([
        1,
        0,
        false,
      ])
      // The negative control: the installed one would have run.
      await play('judge', {})
      expect(existsSync(join(job.env.RUNNER_TEMP ?? '', 'planted'))).to.equal(true)
    })

    it('takes each input as a word, whatever is in it', async () => {
      const planted = join(job.env.RUNNER_TEMP ?? '', 'planted')
      const word = `"; touch '${planted}'; $(touch '${planted}') \`touch '${planted}'\``
      expect((await play('judge', { policies: word, matrices: word, base: word })).code).to.equal(2)
      expect((await play('judge', { 'min-coverage': word })).code).to.equal(2)
      expect((await play('Install Sallyport', { version: word })).code).to.equal(2)
      expect(existsSync(planted)).to.equal(false)
    })

    it('installs without scripts: what the project locks, or a version in a folder without the settings of the project', async () => {
      const bin = join(job.env.RUNNER_TEMP ?? '', 'bin')
      await mkdir(bin)
      await writeFile(join(bin, 'npm'), '#!/bin/sh\necho "$PWD: $*"\n')
      await chmod(join(bin, 'npm'), 0o755)
      const PATH = [bin, job.env.PATH].join(delimiter)
      const install = async (version: string) => (await play('Install Sallyport', { version }, { PATH })).stdout.trim()
      expect(await install('installed')).to.equal(`${one.project}: ci --ignore-scripts --no-audit --no-fund`)
      const apart = join(job.env.RUNNER_TEMP ?? '', 'sallyport')
      expect(await install('1.2.3-rc.1')).to.match(/ install --ignore-scripts .* sallyport@1\.2\.3-rc\.1$/)
      expect(await install('1.2.3')).to.match(new RegExp(`^${apart}: `))
      expect((await play('Install Sallyport', { version: 'latest' }, { PATH })).code).to.equal(2)
    })

    it('ends before anything is installed where the token may write for a fork', async () => {
      const [first] = action.runs.steps
      const refused = await play(first?.name ?? '', {}, { GITHUB_EVENT_NAME: 'pull_request_target' })
      expect([refused.code, refused.stdout.startsWith('::error::')]).to.deep.equal([2, true])
      expect((await play(first?.name ?? '', {})).code).to.equal(0)
    })

    /** Runs the script of a step, with its inputs in the environment, as the runner of GitHub does. */
    async function play(name: string, inputs: Inputs, others: NodeJS.ProcessEnv = {}): Promise<JobRun> {
      const step = action.runs.steps.find((one) => one.id === name || one.name === name)
      const script = join(job.env.RUNNER_TEMP ?? '', 'script.sh')
      await writeFile(script, step?.run ?? 'exit 99')
      const env = { ...job.env, ...filled(step?.env ?? {}, inputs), ...others }
      return job.written(await ranIn(one.project, env, ['bash', '--noprofile', '--norc', '-eo', 'pipefail', script]))
    }

    function filled(env: Readonly<Record<string, string>>, inputs: Inputs): NodeJS.ProcessEnv {
      const value = (input: string) =>
        inputs[input] ?? (input === 'token' ? job.env.GITHUB_TOKEN : action.inputs[input]?.default)
      const named = Object.entries(env).map(([name, from]) => [name, /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(from)?.[1]])
      return Object.fromEntries(named.map(([name = '', input = '']) => [name, value(input)]))
    }
  })
})
