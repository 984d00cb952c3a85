/** Alert rules and the dashboard name metrics that the server has, and each rule fires for its fault. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { parse } from 'yaml'
import { createWebhookMeters } from '../../src/server/webhooks/meters.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { INSTALL_MS, program } from '../programs.ts'
import { freePort } from '../redis.ts'
import { startTestServer } from '../server.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const RULES = join(ROOT, 'deploy/prometheus')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const execute = promisify(execFile)

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const alerts: readonly Alert[] = parse(read('deploy/prometheus/alerts.yml')).groups[0].rules
const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(read('deploy/grafana/sallyport.json'))

describe('alerts and the dashboard', function () {
  this.timeout(INSTALL_MS)
  let metrics: string

  before(async () => {
    program('promtool')
    // A candidate, so that there are the metrics of a comparison; nobody takes the records.
    const send = { DECISION_LOG_SEND: `http://127.0.0.1:${await freePort()}` }
    const server = await startTestServer({ env: { POLICY_CANDIDATE: join(ROOT, 'policies'), ...send } })
    await server.ask('GET', '/api/v1/notes')
    // Servers of a published policy have it.
    server.app.metrics.watchProposals(() => 0)
    // So have servers with a subscription.
    createWebhookMeters(server.app.metrics.registry, async () => 0).watch(() => new Map([['erp', {}]]))
    metrics = await server.app.metrics.text()
    await server.stop()
  })

  it('name metrics and labels that the server gives', () => {
    const asked = [...alerts.map(({ expr }) => expr), ...expressionsOf(dashboard.panels)]
    expect(asked.flatMap((expr) => unknownIn(expr, metrics))).to.deep.equal([])
    const legends = dashboard.panels.flatMap(({ targets }) => targets.map(({ legendFormat }) => legendFormat))
    const labels = legends.flatMap((legend) => [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label))
    expect(labels.filter((label = '') => !ELSEWHERE.has(label) && !metrics.includes(`${label}=`))).to.deep.equal([])
  })

  it('would not pass with a metric or a label that the server does not have', () => {
    expect(unknownIn('rate(sallyport_requests_total[5m]) > 0', metrics)).to.deep.equal(['sallyport_requests_total'])
    const label = 'sallyport_request_duration_seconds_count{code="500"}'
    expect(unknownIn(label, metrics)).to.deep.equal(['sallyport_request_duration_seconds_count: code'])
  })

  it('lead each to a section of a page, and every fault of the runbook that metrics show has an alert', () => {
    const lost = alerts.filter(({ annotations: { runbook = '' } }) => !isSection(runbook)).map(({ alert }) => alert)
    expect(lost).to.deep.equal([])
    expect([isSection('docs/instances.md#nothing'), isSection('docs/nowhere.md#redis')]).to.deep.equal([false, false])
    const named = new Set(alerts.map(({ annotations }) => annotations.runbook))
    const [, runbook = ''] = read('docs/instances.md').split('\n## Runbook\n')
    const without = headingsOf(runbook).filter((heading) => !named.has(`docs/instances.md#${anchorOf(heading)}`))
    expect(without).to.deep.equal(WITHOUT_ALERT)
  })

  it('are rules that Prometheus reads, and each fires for its fault and for nothing else', async () => {
    const { stdout } = await promtool('check', 'rules', join(RULES, 'alerts.yml'))
    expect(stdout).to.contain(`${alerts.length} rules found`)
    await promtool('test', 'rules', join(RULES, 'alerts.test.yml'))
    const tested = [...read('deploy/prometheus/alerts.test.yml').matchAll(/alertname: (\w+)\n {8}exp_alerts:\n/g)]
    expect(new Set(tested.map(([, name]) => name))).to.deep.equal(new Set(alerts.map(({ alert }) => alert)))
  })

  it('are found wrong by promtool if one fires too late, or can not be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-rules-'))
    cpSync(RULES, folder, { recursive: true })
    const change = (from: string, to: string) =>
      writeFileSync(join(folder, 'alerts.yml'), read('deploy/prometheus/alerts.yml').replace(from, to))
    change('> 0.1', '> 1000')
    const late = await promtool('test', 'rules', join(folder, 'alerts.test.yml')).catch((error: Error) => error)
    change('> 0.1', '> > 0.1')
    const unreadable = await promtool('check', 'rules', join(folder, 'alerts.yml')).catch((error: Error) => error)
    await removeFolder(folder)
    expect(late).to.be.an('error').with.property('stderr').that.contains('SallyportUnavailable')
    expect(unreadable).to.be.an('error')
  })
})

/** Prometheus gives the first; the others need a candidate that answers otherwise (test/shadow/). */
const ELSEWHERE = new Set(['instance', 'change', 'reason'])

/** Other causes have the same alert, which leads to the first of them; or no metric shows the fault. */
const WITHOUT_ALERT = [
  'A rolling restart',
  'The synchronous replica is away',
  'The network to PostgreSQL stalls, loses connections or delays',
  'The disk of PostgreSQL is full',
  'A primary of Redis fails over',
  'Clocks differ',
  "The signing keys in the database can't be read",
]

function promtool(...args: readonly string[]) {
  return execute(program('promtool'), args)
}

function expressionsOf(panels: readonly Panel[]): readonly string[] {
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
}

/** Names and labels of an expression that the text for Prometheus doesn't have. */
function unknownIn(expr: string, metrics: string): readonly string[] {
  const named = [...expr.matchAll(/\b(sallyport_[a-z0-9_]+)(?:\{([^}]*)\})?/g)]
  return named.flatMap(([, name = '', selectors = '']) => {
    // A counter with labels has no line before it has counted.
    if (!new RegExp(`^(?:# TYPE )?${name}[{ ]`, 'm').test(metrics)) return [name]
    const labels = [...selectors.matchAll(/(\w+)=/g)].map(([, label]) => label)
    const has = (label = '') => label === 'instance' || new RegExp(`^${name}\\{[^}]*\\b${label}=`, 'm').test(metrics)
    return labels.filter((label) => !has(label)).map((label) => `${name}: ${label}`)
  })
}

function isSection(place: string): boolean {
  const [file = '', anchor] = place.split('#')
  try {
    return headingsOf(read(file))
      .map(anchorOf)
      .includes(anchor ?? '')
  } catch {
    return false
  }
}

function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading)
}

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
