/** Redis, Sentinels and a Cluster that speak TLS alone: certificates are verified, for Sentinels too. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { examineRedis } from '../../src/limits/examine-redis.ts'
import { removeNow, removeWithTests } from '../ends-with-tests.ts'
import { program } from '../programs.ts'
import { freePort, type RedisServer, startRedis } from '../redis.ts'
import { NAME } from '../redis-groups.ts'
import { until } from '../until.ts'
import { logOf } from './many-instances.ts'

describe('Redis with TLS', () => {
  const trusted = getCACertificates('default')
  let directory: string
  let servers: readonly RedisServer[]
  let urls: Readonly<Record<string, string>>

  before(async () => {
    directory = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-redis-tls-')))
    const subject = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem']
    execFileSync(program('openssl'), ['req', '-x509', ...key, ...subject, '-out', 'crt.pem'], {
      cwd: directory,
      stdio: 'pipe',
    })
    trust(true)
    const one = await startTls()
    const configuration = `sentinel monitor ${NAME} 127.0.0.1 ${one.port} 1`
    const sentinel = await startTls({ configuration, args: ['--sentinel', '--tls-replication', 'yes'] })
    const node = await startTls({ args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] })
    servers = [one, sentinel, node]
    const admin = new Redis({ host: '127.0.0.1', port: node.port, tls: {} })
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
    await until(async () => /cluster_state:ok/.test(String(await admin.cluster('INFO'))))
    admin.disconnect()
    urls = {
      rediss: `rediss://127.0.0.1:${one.port}`,
      'rediss-sentinel': `rediss-sentinel://127.0.0.1:${sentinel.port}/${NAME}`,
      'rediss-cluster': `rediss-cluster://127.0.0.1:${node.port}`,
    }
  })

  after(async () => {
    setDefaultCACertificates(trusted)
    await Promise.all(servers.map((server) => server.kill()))
    removeNow(directory)
  })

  afterEach(() => trust(true))

  function trust(isTrusted: boolean): void {
    setDefaultCACertificates([...trusted, ...(isTrusted ? [readFileSync(join(directory, 'crt.pem'), 'utf8')] : [])])
  }

  async function startTls({ args = [], ...options }: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
    const port = await freePort()
    const files = ['cert', 'key', 'ca-cert'].flatMap((name) => {
      return [`--tls-${name}-file`, join(directory, name === 'key' ? 'key.pem' : 'crt.pem')]
    })
    const tls = ['--port', '0', '--tls-port', `${port}`, ...files, '--tls-auth-clients', 'no', '--tls-cluster', 'yes']
    return startRedis({ ...options, port, args: [...args, ...tls] })
  }

  for (const scheme of ['rediss', 'rediss-sentinel', 'rediss-cluster']) {
    it(`counts by a URL of ${scheme}`, async () => {
      const url = urls[scheme] ?? ''
      expect(await logOf(url)).to.deep.equal({ logged: [], state: 'ok' })
      const found = await examineRedis(url)
      expect(found.filter(({ state }) => state === 'fault')).to.deep.equal([])
    })

    it(`counts nothing by a URL of ${scheme} if nobody knows the CA, or without TLS`, async () => {
      const url = urls[scheme] ?? ''
      trust(false)
      const { logged, state } = await logOf(url)
      expect(state).to.equal('degraded')
      // The client keeps the reasons of several hosts to itself.
      if (scheme === 'rediss') expect(JSON.stringify(logged)).to.match(/self.signed certificate/)
      trust(true)
      expect((await logOf(url.replace('rediss', 'redis'))).state).to.equal('degraded')
    })
  }
})
