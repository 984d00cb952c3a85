/**
 * 16 clients write while memberships, suspensions and their users records change under them: no write commits after the
 * change that forbids it. The order of the commits decides, no clock.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { filesOf } from '../policy/render.ts'
import { Commits, judge, type Reason, type Verdict } from './racing/commits.ts'
import { POLICY_TEXTS, projectOf, SCHEMAS, TEAM, USERS } from './racing/world.ts'

const SERVER = new URL('racing/racing-server.ts', import.meta.url).pathname
const KEEPERS = 4
/** Each takes a right of each of its four users away and gives it back, for each reason. */
const ROUNDS = 12
/** The most, where the run ends earlier. */
const MOST_ROUNDS = 20 * ROUNDS
const REASONS: readonly Reason[] = ['no membership', 'a suspension', 'no team']

describe('writes that race with changes of what they rest on', () => {
  let folder: string
  const children = new Set<ChildProcess>()

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const name of ['policies', 'schemas']) await mkdir(join(folder, name))
    for (const file of Object.values(filesOf(POLICY_TEXTS))) {
      if (file) await writeFile(join(folder, 'policies', file.name), file.text)
    }
    await writeFile(join(folder, 'policies/blocked.txt'), '')
    for (const { name, text } of SCHEMAS) await writeFile(join(folder, `schemas/${name}.json`), text)
  })
  afterEach(async () => {
    for (const child of [...children]) await endNow(child)
    children.clear()
    await removeFolder(folder)
  })

  async function start(...faults: string[]): Promise<string> {
    const child = spawn(process.execPath, [SERVER, folder, ...faults], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.add(child)
    const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    const url = String(line).trim()
    if (!url.startsWith('http')) throw new Error('the server ended at once')
    return url
  }

  /** A second server starts on what the first one has stored. */
  async function race(servers: number, rounds: Rounds, ...faults: string[]): Promise<Verdict> {
    const urls: string[] = []
    while (urls.length < servers) urls.push(await start(...faults))
    const commits = new Commits(join(folder, 'data/sallyport.db'))
    try {
      await writeAndChange(urls, rounds, () => judge(commits.all()))
      return judge(commits.all())
    } finally {
      commits.close()
    }
  }

  for (const [servers, where] of [
    [1, 'in one process'],
    [2, 'in two processes on one database'],
  ] as const) {
    it(`commit only while it is still so, ${where}`, async () => {
      const { writes, changes, forbidden } = await race(servers, { most: ROUNDS })
      expect(forbidden).to.deep.equal([])
      expect(writes).to.be.greaterThan(100)
      expect(changes).to.equal(2 * KEEPERS * ROUNDS)
    })
  }

  it('would be found to commit too late, for each reason, by a store that does not ask again', async () => {
    const allFound = ({ forbidden }: Verdict) => REASONS.every((reason) => forbidden.includes(reason))
    const verdict = await race(2, { most: MOST_ROUNDS, until: allFound }, 'blind')
    expect(new Set(verdict.forbidden)).to.deep.equal(new Set(REASONS))
  })
})

interface Rounds {
  /** Of each keeper. */
  readonly most: number
  readonly until?: (verdict: Verdict) => boolean
}

async function writeAndChange(
  urls: readonly string[],
  { most, until = () => false }: Rounds,
  verdict: () => Verdict,
): Promise<void> {
  let changing = true
  const urlOf = (i: number) => urls[i % urls.length] ?? ''
  const writers = USERS.map(async (user, i) => {
    for (let round = 0; changing; round++) await writeRound(urlOf(Math.floor(i / KEEPERS)), user, round)
  })
  const keepers = Array.from({ length: KEEPERS }, async (_, keeper) => {
    const own = USERS.filter((_user, i) => i % KEEPERS === keeper).map((id) => ({ id, membership: `m-${id}` }))
    for (let round = 0; round < most; round++) {
      const user = own[round % own.length]
      if (user) await takeAndGive(urlOf(keeper + round), user, Math.floor(round / own.length))
      if (round % ROUNDS === ROUNDS - 1 && until(verdict())) break
    }
  })
  await Promise.all(keepers).finally(() => {
    changing = false
  })
  await Promise.all(writers)
}

/** A write of each kind; each is allowed, or refused because the right was taken away. */
async function writeRound(url: string, user: string, round: number): Promise<void> {
  const token = `${user}.member.`
  const title = `round ${round}`
  await ask(url, token, { method: 'PATCH', path: `/tasks/t-${user}`, body: { title } }, [200, 204, 403])
  await ask(url, token, { method: 'PATCH', path: `/plans/l-${user}`, body: { title } }, [200, 204, 403])
  const created = await ask(
    url,
    token,
    { method: 'POST', path: '/tasks', body: { projectId: projectOf(user) } },
    [201, 403],
  )
  if (created) await ask(url, token, { method: 'DELETE', path: `/tasks/${created}` }, [204, 403])
}

/** The membership, a suspension and the team in turn; the change, a moment, and the change back. */
async function takeAndGive(url: string, user: { id: string; membership: string }, turn: number): Promise<void> {
  const keep = (method: string, path: string, body?: object) =>
    ask(url, 'kim.keeper.', { method, path, ...(body ? { body } : {}) }, [200, 201, 204])
  const row = { userId: user.id, projectId: projectOf(user.id) }
  switch (REASONS[turn % REASONS.length]) {
    case 'no membership':
      await keep('DELETE', `/memberships/${user.membership}`)
      user.membership = (await keep('POST', '/memberships', row)) ?? ''
      break
    case 'a suspension': {
      const id = await keep('POST', '/suspensions', row)
      await keep('DELETE', `/suspensions/${id}`)
      break
    }
    default:
      await keep('PATCH', `/users/${user.id}`, { team: 'blue' })
      await keep('PATCH', `/users/${user.id}`, { team: TEAM })
  }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: object
}

/** The id of the new object, of a create. */
async function ask(
  url: string,
  token: string,
  { method, path, body }: Sent,
  expected: readonly number[],
): Promise<string | undefined> {
  const answer = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body ? { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await answer.text()
  expect(expected, `${method} ${path}: ${text}`).to.include(answer.status)
  return answer.headers.get('location')?.split('/').at(-1)
}
