/** Traces and metrics of a server as it is started: with workers, and until its end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { endNow, endWithTests, removeFolder } from '../ends-with-tests.ts'
import { until } from '../until.ts'
import { Collector, QUICK, SERVER } from './collector.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('serve with a collector', () => {
  let collector: Collector
  let folder: string
  let child: ChildProcess | undefined

  beforeEach(async () => {
    collector = new Collector()
    await collector.listen()
    folder = await mkdtemp(join(tmpdir(), 'sallyport-telemetry-'))
  })
  afterEach(async () => {
    await endNow(child)
    await collector.close()
    await removeFolder(folder)
  })

  async function serve(env: Readonly<Record<string, string>>, ...flags: readonly string[]): Promise<string> {
    child = endWithTests(
      spawn(process.execPath, [join(ROOT, 'bin/sallyport.js'), 'serve', ...flags], {
        cwd: ROOT,
        env: { ...process.env, PORT: '0', ADMIN_PORT: '0', DATA_DIR: join(folder, 'data'), ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    )
    let said = ''
    child.stderr?.on('data', (text) => {
      said += text
    })
    await until(() => said.includes('"listening"') || child?.exitCode !== null)
    expect(child.exitCode, said).to.equal(null)
    return JSON.parse(said.split('\n').find((line) => line.includes('"listening"')) ?? '{}').url
  }

  const askAnew = async (url: string) =>
    expect((await fetch(`${url}/livez`, { headers: { connection: 'close' } })).status).to.equal(200)

  it('has an instance id for each worker, and one name for all', async () => {
    const env = {
      ...QUICK,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      INSTANCE: 'north-1',
      OTEL_SERVICE_NAME: 'notes',
    }
    const url = await serve(env, '--workers', '2')
    const idsOf = (all: readonly { readonly resource: Readonly<Record<string, unknown>> }[]) =>
      new Set(all.map(({ resource }) => resource['service.instance.id']))
    await until(async () => {
      await askAnew(url)
      return idsOf(collector.spans).size === 2 && idsOf(collector.metrics).size === 2
    })
    for (const id of idsOf(collector.spans)) expect(id).to.match(/^north-1\/\d+$/)
    expect(idsOf(collector.metrics)).to.deep.equal(idsOf(collector.spans))
    expect(new Set(collector.spans.map(({ resource }) => resource['service.name']))).to.deep.equal(new Set(['notes']))
  })

  it('sends what waits when it is told to stop, and ends with 0', async () => {
    const env = {
      ...QUICK,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '3600000',
      OTEL_METRIC_EXPORT_INTERVAL: '3600000',
    }
    await askAnew(await serve(env))
    expect(collector.batches).to.deep.equal([])
    child?.kill('SIGTERM')
    expect(await once(child as ChildProcess, 'exit')).to.deep.equal([0, null])
    expect(collector.spans.filter(({ kind }) => kind === SERVER).map(({ name }) => name)).to.deep.equal(['GET /livez'])
    expect(collector.metrics.length).to.be.greaterThan(10)
  })

  it('speaks protobuf if nothing else is asked for', async () => {
    const { OTEL_EXPORTER_OTLP_PROTOCOL: _, ...quick } = QUICK
    const url = await serve({ ...quick, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await askAnew(url)
    await until(() => new Set(collector.batches.map(({ path }) => path)).size === 2)
    await until(() => collector.text.includes('GET /livez'))
    expect(new Set(collector.batches.map(({ type }) => type))).to.deep.equal(new Set(['application/x-protobuf']))
  })

  it('refuses a bad setting in one sentence, before it starts anything', async () => {
    const started = serve({ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }).catch((error: Error) => error.message)
    expect(await started).to.include(
      'OTEL_EXPORTER_OTLP_ENDPOINT is "localhost:4318"; set it to a URL like http://localhost:4318',
    )
  })
})
