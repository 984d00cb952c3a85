/**
 * The configuration of the reverse proxy, as text: its own answers are problem documents like the server's. nginx itself
 * was run by hand (docs/operating.md).
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { CATALOGUE } from '../../src/base/problems/catalogue.ts'
import { startTestServer } from '../server.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

interface Service {
  readonly volumes?: readonly string[]
  readonly restart?: string
  readonly environment?: Readonly<Record<string, string | number>>
  readonly depends_on?: object
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly networks?: { readonly front?: { readonly ipv4_address?: string } }
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
}

describe('the reverse proxy', () => {
  const shared = read('deploy/sallyport.inc')
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as Compose
  const answers = [...shared.matchAll(/location = (\S+) \{([^}]*?)\n {2}return (\d+) '(.*)';\n\}/g)].map(
    ([, place, settings, status, text]) => ({ place, settings, status: Number(status), text: text ?? '' }),
  )
  const codeOf = (text: string) => JSON.parse(text).code as string

  it('answers by itself with problem documents of the catalogue, or of its own that docs/problems.md tells of', () => {
    const page = read('docs/problems.md')
    for (const { status, text } of answers) {
      const { instance, detail, ...problem } = JSON.parse(text)
      const code = codeOf(text)
      const known = CATALOGUE[code as keyof typeof CATALOGUE]
      const title = known?.title ?? new RegExp(`^- \`${code}\` \\(${status}\\): (.+?)\\. `, 'm').exec(page)?.[1]
      expect(problem).to.deep.equal({ type: `urn:sallyport:problem:${code}`, title, status, code })
      if (known) expect(known.status).to.equal(status)
      expect(instance).to.equal('$instance')
      expect(detail).to.match(/^[A-Z].*\.$/)
    }
    const statuses = answers.map(({ status }) => status)
    expect(statuses).to.deep.equal([400, 408, 413, 414, 431, 502, 504])
  })

  it('has a place for each of its faults, which nobody reaches from outside, and leaves 404 and 405 to the server', () => {
    const named = [...shared.matchAll(/^error_page (.*) (\S+);$/gm)]
    expect(named.map(([, , place]) => place)).to.deep.equal(['@server', ...answers.map(({ place }) => place)])
    for (const { settings } of answers) expect(settings).to.contain('internal;').and.to.contain('no-store always;')
    expect(named[0]?.[1]).to.equal('404 405 =')
    expect(shared).to.contain('default_type application/problem+json;')
    expect(shared).not.to.contain('proxy_intercept_errors on')
  })

  for (const [file, listen] of [
    ['deploy/nginx.conf', 'listen 80;'],
    ['deploy/nginx-tls.conf', 'listen 443 ssl;'],
  ] as const) {
    it(`${file} gives each answer an id and shares the rest`, () => {
      const text = read(file)
      expect(text).to.contain(listen).and.to.contain('include /etc/nginx/sallyport.inc;')
      expect(text).to.contain('map $request_id $instance')
    })
  }

  it('is mounted from files that are there, and every service starts again by itself', () => {
    for (const [name, { restart }] of Object.entries(services)) expect(restart, name).to.equal('unless-stopped')
    const tls = parse(read('docker-compose.tls.yml').replace('!override ', '')) as Compose
    const mounted = [...(services.proxy?.volumes ?? []), ...(tls.services.proxy?.volumes ?? [])]
    const files = mounted.map((volume) => volume.split(':')[0] ?? '')
    expect(files.filter((file) => file !== './tls' && !existsSync(join(ROOT, file)))).to.deep.equal([])
    expect(files).to.include.members(['./deploy/nginx.conf', './deploy/nginx-tls.conf', './deploy/sallyport.inc'])
  })

  it('asks every instance, at an address that stays, and nothing else', () => {
    const asked = [...read('deploy/instances.conf').matchAll(/^ {2}server (\S+):3000 /gm)].map(([, name]) => name)
    const instances = Object.entries(services).filter(([, { environment }]) => environment?.INSTANCE !== undefined)
    expect(instances.map(([name]) => name)).to.deep.equal(asked)
    expect(instances.length).to.equal(2)
    expect(Object.keys(services.proxy?.depends_on ?? {})).to.deep.equal(asked)
    expect(new Set(instances.map(([, { networks }]) => networks?.front?.ipv4_address)).size).to.equal(2)
    for (const [name, { environment, volumes }] of instances) {
      expect(environment?.INSTANCE).to.equal(name)
      expect(volumes?.filter((volume) => volume.endsWith(':/data')).length).to.equal(1)
    }
    expect(new Set(instances.map(([, { volumes }]) => volumes?.[0])).size).to.equal(2)
    expect([...shared.matchAll(/proxy_pass (\S+);/g)].map(([, to]) => to)).to.deep.equal(
      Array(2).fill('http://instances'),
    )
  })

  it('closes an idle connection before the server does, which would lose a request', async () => {
    const server = await startTestServer()
    const { headers } = await server.ask('GET', '/livez')
    await server.stop()
    const serverSeconds = Number(/^timeout=(\d+)$/.exec(headers.get('keep-alive') ?? '')?.[1])
    for (const file of ['deploy/instances.conf', 'deploy/gateways/nginx.conf']) {
      const seconds = Number(/^ {2}keepalive_timeout (\d+)s;$/m.exec(read(file))?.[1])
      expect(serverSeconds - seconds, file).to.be.at.least(5)
    }
  })

  it('starts instances when PostgreSQL takes clients, not while its image makes the database', () => {
    const { test = [] } = services.postgres?.healthcheck ?? {}
    expect(test.slice(0, 4)).to.deep.equal(['CMD', 'pg_isready', '--host', '127.0.0.1'])
  })

  it('gives the instances only settings that docs/configuration.md has, and secrets that .env must have', () => {
    const known = new Set([...read('docs/configuration.md').matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name))
    const { INSTANCE: _, ...settings } = services['api-1']?.environment ?? {}
    expect(Object.keys(settings).filter((name) => !known.has(name))).to.deep.equal([])
    expect(Object.keys(settings)).to.include.members(['DATABASE_URL', 'KEYS_SECRET', 'REDIS_URL', 'TRUST_PROXY'])
    // An instance listens on every address of its container, and no other service can reach 0.0.0.0.
    expect(settings.PUBLIC_URL).to.match(/^\$\{PUBLIC_URL:-https?:/)
    for (const name of ['POSTGRES_PASSWORD', 'KEYS_SECRET']) {
      expect(JSON.stringify(settings)).to.contain(`\${${name}:?`)
      expect(read('docs/operating.md')).to.contain(`${name}=$(openssl rand`)
    }
  })
})
