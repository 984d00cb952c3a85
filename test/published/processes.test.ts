/** Processes of two instances, one of them with two workers, follow the policy of one database, also after a kill. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'chai'
import { readInstanceState } from '../../src/policy/published/published-source.ts'
import { childrenOf, type ServedCluster, startCluster } from '../serve/cluster.ts'
import { until } from '../until.ts'
import { PublishedPolicies } from './fixture.ts'

describe('processes that share a published policy', () => {
  let published: PublishedPolicies
  const children: ChildProcess[] = []

  beforeEach(async () => {
    published = await PublishedPolicies.make()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    await published.remove()
  })

  async function start(name: string, workers: number): Promise<ServedCluster> {
    const env = { DATA_DIR: join(published.root, name), INSTANCE: name, ...published.environment() }
    const started = await startCluster(published.root, env, workers)
    children.push(started.child)
    return started
  }

  /** What each process told last: the name of its instance, and the number of its version. */
  async function told(): Promise<readonly (readonly [string, number])[]> {
    const versions = await published.versions()
    const notes = await versions.instances()
    await versions.close()
    return notes
      .map(({ name, state }) => [name.split('/')[0] ?? '', readInstanceState(state)?.sequence ?? 0] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
  }

  const all = (number: number) => [
    ['large', number],
    ['large', number],
    ['small', number],
  ]
  const have = (number: number) => async () => JSON.stringify(await told()) === JSON.stringify(all(number))

  it('take each version and each block, and a worker that was killed has the last one when it is back', async () => {
    await published.publish()
    const large = await start('large', 2)
    const small = await start('small', 1)
    await until(have(1))
    await published.publish('# second\n')
    await until(have(2))
    await published.block('mallory')
    await until(have(3))
    const [worker = 0] = await childrenOf(large.child)
    process.kill(worker, 'SIGKILL')
    await published.publish('# fourth\n')
    const versions = await published.versions()
    const after = async () => {
      const names = (await versions.instances()).filter(({ name }) => name !== `large/${worker}`)
      return names.length === 3 && names.every(({ state }) => readInstanceState(state)?.sequence === 4)
    }
    await until(after)
    await versions.close()
    for (const { url } of [large, small]) {
      for (let i = 0; i < 10; i++) {
        const { headers } = await fetch(`${url}/livez`, { headers: { connection: 'close' } })
        expect(headers.get('policy-sequence')).to.equal('4')
      }
    }
  })
})
