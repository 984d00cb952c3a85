/**
 * npm run bench:pair -- OTHER: what requests of this checkout cost, and of another one (with its own `npm ci`), in the CPU
 * time of their thread. Both run in this process and take turns, because a busy machine shows a difference of a hundredth
 * only so. Each is there twice, which shows what the difference of two that are the same is.
 */
import type { Server } from 'node:http'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { askInMemory, printQuantiles, serverOf } from './load/in-memory.ts'

const WARM_UPS = 15

type Kind = 'get' | 'list' | 'create' | 'patch'

/** Writes wait for the disk. */
const SHARE: Readonly<Record<Kind, number>> = { get: 1, list: 1 / 4, create: 1 / 10, patch: 1 / 10 }

interface Paired {
  readonly name: string
  readonly server: Server
  readonly requests: Readonly<Record<Kind, readonly string[]>>
}

async function compare(): Promise<void> {
  const options = {
    only: { type: 'string', default: 'get,list,create,patch' },
    rounds: { type: 'string', default: '100' },
    requests: { type: 'string', default: '320' },
  } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const [other] = positionals
  if (other === undefined) throw new Error('name the folder of another checkout, whose packages are installed')
  const own = new URL('..', import.meta.url).pathname
  const pairs = [
    await start('this', own),
    await start('other', resolve(other)),
    await start('this again', own),
    await start('other again', resolve(other)),
  ]
  for (const kind of values.only.split(',') as Kind[]) {
    await compareKind(kind, pairs, {
      rounds: Number(values.rounds),
      count: Math.ceil(Number(values.requests) * SHARE[kind]),
    })
  }
}

interface Turns {
  readonly rounds: number
  /** Requests in a turn. */
  readonly count: number
}

async function compareKind(kind: Kind, pairs: readonly Paired[], { rounds, count }: Turns): Promise<void> {
  const micros = new Map(pairs.map(({ name }): [string, number[]] => [name, []]))
  for (let round = -WARM_UPS; round < rounds; round++) {
    const first = Math.abs(round) % pairs.length
    const order = [...pairs.slice(first), ...pairs.slice(0, first)]
    for (const { name, server, requests } of round % 2 === 0 ? order : order.toReversed()) {
      const each = await askInMemory(server, requests[kind], count)
      if (round >= 0) micros.get(name)?.push(each)
    }
  }
  const sample = (name: string) => micros.get(name) ?? []
  const ratios = (name: string, under: string) => sample(name).map((one, i) => one / (sample(under)[i] ?? Number.NaN))
  for (const { name } of pairs) printQuantiles(`${kind}: us of ${name}`, sample(name))
  const both = [...ratios('this', 'other'), ...ratios('this again', 'other again')]
  printQuantiles(`${kind}: this / other`, both)
  printQuantiles(`${kind}: this / this again`, ratios('this', 'this again'))
}

async function start(name: string, checkout: string): Promise<Paired> {
  const load = (file: string) => import(new URL(file, `file://${checkout.replace(/\/?$/, '/')}`).href)
  const { Fixtures } = await load('bench/fixture/fixtures.ts')
  const { USUAL } = await load('bench/fixture/shape.ts')
  const { environmentOf } = await load('bench/fixture/environment.ts')
  const { readConfig } = await load('src/config/config.ts')
  const { startApp } = await load('src/server/app.ts')
  const { createLog } = await load('src/server/observe/log.ts')
  const { folder, target } = await new Fixtures().prepared({ ...USUAL, notes: 1000 }, name.replaceAll(/\W/g, '-'))
  const config = readConfig({ ...environmentOf(folder), PORT: '0' })
  const server = await serverOf(() => startApp({ config, log: createLog('silent', process.stderr) }))
  const list = target.path.replace(/\/$/, '')
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${target.token}\r\n`
  const body = JSON.stringify({ title: 'Milk', body: 'two' })
  const of = (text: string) => `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  const patch = (title: string) => (id: string) =>
    `${head(`PATCH ${target.path}${id}`)}If-Match: *\r\n${of(JSON.stringify({ title }))}`
  const patched: readonly string[] = target.ids.slice(0, 16)
  return {
    name,
    server,
    requests: {
      get: target.ids.slice(0, 100).map((id: string) => `${head(`GET ${target.path}${id}`)}\r\n`),
      list: [`${head(`GET ${list}?limit=20`)}\r\n`],
      create: [head(`POST ${list}`) + of(body)],
      // Each changes something: otherwise nothing is written.
      patch: [...patched.map(patch('Milk')), ...patched.map(patch('Bread'))],
    },
  }
}

await compare()
process.exit()
