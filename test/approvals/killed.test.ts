/** A command that is killed at any moment leaves a proposal as it was or whole, and the next command goes on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { policy } from '../release/command.ts'
import { FIRST_KILL, soak, times } from '../runs.ts'
import { ApprovedPolicies, type Name } from './people.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const KILLS = soak(times(5), 3)

describe('the commands of proposals, killed', function () {
  this.timeout(600_000)
  let approved: ApprovedPolicies
  before(async () => {
    approved = await ApprovedPolicies.make()
  })
  after(() => approved.remove())

  const run = (...args: readonly string[]) => policy(args, approved.environment())
  const as = (name: Name, ...args: readonly string[]) => [...args, '--key', approved.keyOf(name)]
  const proposals = async () => JSON.parse((await run('proposals', '--format', 'json')).stdout).proposals
  const versions = async () => JSON.parse((await run('history', '--verify', '--format', 'json')).stdout)

  let unfinished = 0

  /** Kills the command; what `count` counts has grown by one or not at all, and has afterwards. */
  async function killed(args: readonly string[], killAfterMs: number, count: () => Promise<number>): Promise<void> {
    const before = await count()
    const env = { ...process.env, ...approved.environment() }
    const child = spawn(process.execPath, ['bin/sallyport.js', 'policy', ...args], { cwd: ROOT, env })
    let said = ''
    child.stdout.on('data', (data) => {
      said += data
    })
    const ended = once(child, 'exit')
    await Promise.race([sleep(killAfterMs), ended])
    child.kill('SIGKILL')
    await ended
    const isSaid = said.includes('roposal ')
    if (!isSaid) unfinished += 1
    expect(await count(), said).to.be.within(before + (isSaid ? 1 : 0), before + 1)
    if ((await count()) === before) expect((await run(...args)).code).to.equal(0)
    expect(await count()).to.equal(before + 1)
  }

  it('propose, approve and publish once, whole or not at all', async () => {
    for (let i = FIRST_KILL; i < FIRST_KILL + KILLS; i++) {
      // From the start of the program to its end, which a busy machine moves.
      const [first = 0, second = 0, third = 0] = [0, 1, 2].map((step) => 100 + ((i * 37 + step * 211) % 900))
      const folder = await approved.folderWith(`next-${i}`, `# change ${i}\n`)
      const propose = as('ada', 'propose', folder, '--title', `change ${i}`)
      await killed(propose, first, async () => (await proposals()).length)
      const number = String((await proposals())[0].proposal)
      await killed(as('zoe', 'approve', number), second, async () => (await proposals())[0].said.length)
      await killed(['publish', number], third, async () => (await versions()).versions.length)
      expect((await versions()).broken).to.equal(null)
    }
    expect(unfinished, 'some were killed before they were done').to.be.greaterThan(0)
  })
})
