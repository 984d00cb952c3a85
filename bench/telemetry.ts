/**
 * npm run bench:telemetry: what traces and metrics cost a guarded GET. It measures by itself, because a busy machine
 * shows a difference of a hundredth only within one process: there, two processes that do the same differ by a tenth.
 * So several servers of this process take turns at a few hundred requests. These come through memory, so that nothing but
 * the servers is measured: the CPU time of their thread. Ratios are taken within a round.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config/config.ts'
import { startApp } from '../src/server/app.ts'
import { createLog } from '../src/server/observe/log.ts'
import { environmentOf } from './fixture/environment.ts'
import { Fixtures } from './fixture/fixtures.ts'
import { USUAL } from './fixture/shape.ts'
import { askInMemory, printQuantiles, serverOf } from './load/in-memory.ts'

const [WARM_UPS, WARM_UP_REQUESTS] = [20, 2000]

interface Variant {
  readonly name: string
  readonly server: Server
  readonly heads: readonly string[]
  readonly micros: number[]
}

async function compare(): Promise<void> {
  const options = { rounds: { type: 'string', default: '400' }, requests: { type: 'string', default: '320' } } as const
  const { values } = parseArgs({ options })
  const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
  await once(collector.listen(0, '127.0.0.1'), 'listening')
  const sampled = (share: string) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: share,
  })
  const fixtures = new Fixtures()
  const variants = [
    await start(fixtures, 'off'),
    await start(fixtures, 'off again'),
    await start(fixtures, '1 %', sampled('0.01')),
    await start(fixtures, '1 % again', sampled('0.01')),
    await start(fixtures, 'all', sampled('1')),
  ]
  const [rounds, requests] = [Number(values.rounds), Number(values.requests)]
  for (let round = -WARM_UPS; round < rounds; round++) {
    const order = [...variants.slice(round % variants.length), ...variants.slice(0, round % variants.length)]
    for (const one of round % 2 === 0 ? order : order.toReversed()) {
      const micros = await askInMemory(one.server, one.heads, round < 0 ? WARM_UP_REQUESTS : requests)
      if (round >= 0) one.micros.push(micros)
    }
  }
  report(variants)
}

function report(variants: readonly Variant[]): void {
  for (const { name, micros } of variants) printQuantiles(`CPU us of ${name}`, micros)
  for (const { name, micros } of variants) {
    for (const under of variants.filter((one) => one.name.startsWith('off') && one.name !== name)) {
      printQuantiles(
        `${name} / ${under.name}`,
        micros.map((one, round) => one / (under.micros[round] ?? Number.NaN)),
      )
    }
  }
}

async function start(
  fixtures: Fixtures,
  name: string,
  traced: Readonly<Record<string, string>> = {},
): Promise<Variant> {
  const { folder, target } = await fixtures.prepared({ ...USUAL, notes: 1000 }, name.replaceAll(/\W/g, '-'))
  // The exporters read it there; other servers aren't told of it.
  Object.assign(process.env, traced)
  const config = readConfig({ ...environmentOf(folder), PORT: '0', ...traced })
  const server = await serverOf(() => startApp({ config, log: createLog('silent', process.stderr) }))
  const heads = target.ids.slice(0, 100).map((id) => {
    return `GET ${target.path}${id} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${target.token}\r\n\r\n`
  })
  return { name, server, heads, micros: [] }
}

await compare()
process.exit()
