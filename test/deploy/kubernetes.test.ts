/** deploy/kubernetes/: the manifests fit the schemas of Kubernetes and the server. They were not run on a cluster. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { sallyport } from '../command.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { faultsOf } from './manifest-rules.ts'
import {
  FOLDER,
  folders,
  kustomizationOf,
  type Manifest,
  manifestsOf,
  ROOT,
  readManifests,
  schemaFaults,
} from './manifests.ts'

const COMPONENTS = ['monitoring', 'policy-configmap', 'policy-database']
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

const container = ({ spec }: Manifest) => spec.template.spec.containers[0]

/** By kind: what is changed, and the fault that must be found. */
const BROKEN: readonly (readonly [string, string, (manifest: Manifest) => unknown, string])[] = [
  ['Deployment', 'a setting has a slip', (m) => container(m).env.push({ name: 'DATABASE_URI' }), 'DATABASE_URI'],
  ['ConfigMap', 'a setting has a slip in the ConfigMap', ({ data }) => (data.LOG_LEVL = 'info'), 'LOG_LEVL'],
  [
    'Deployment',
    'a secret is a value',
    (m) => (container(m).env.find(({ name }: Manifest) => name === 'KEYS_SECRET').valueFrom = undefined),
    "KEYS_SECRET isn't taken from a Secret",
  ],
  ['ConfigMap', 'a secret is among the settings', ({ data }) => (data.DATABASE_URL = 'postgres://x'), 'is secret'],
  [
    'Deployment',
    'a probe asks another path',
    (m) => (container(m).livenessProbe.httpGet.path = '/healthz'),
    '/healthz',
  ],
  [
    'Deployment',
    'a probe asks another port',
    (m) => (container(m).readinessProbe.httpGet.port = 'http'),
    'another port',
  ],
  ['ConfigMap', 'ADMIN_PORT is another one', ({ data }) => (data.ADMIN_PORT = '9091'), 'another port'],
  [
    'Deployment',
    'the time to drain is short',
    ({ spec }) => (spec.template.spec.terminationGracePeriodSeconds = 25),
    'killed',
  ],
  ['Deployment', 'proxies get no time', (m) => (container(m).lifecycle = {}), 'no time'],
  [
    'Service',
    'a service selects other labels',
    ({ spec }) => (spec.selector = { app: 'sallyport' }),
    'selects nothing',
  ],
  [
    'PodDisruptionBudget',
    'a budget selects nothing',
    ({ spec }) => (spec.selector.matchLabels = {}),
    'selects nothing',
  ],
  ['ServiceMonitor', 'nobody scrapes', ({ spec }) => (spec.selector.matchLabels = { a: 'b' }), 'selects nothing'],
  [
    'ServiceMonitor',
    'it scrapes another port',
    ({ spec }) => (spec.endpoints[0].port = 'http2'),
    'nobody has the port',
  ],
  ['HorizontalPodAutoscaler', 'nothing scales', ({ spec }) => (spec.scaleTargetRef.name = 'api'), 'selects nothing'],
  ['HorizontalPodAutoscaler', 'more instances share a limit', ({ spec }) => (spec.maxReplicas = 9), 'LIMIT_INSTANCES'],
  ['ConfigMap', 'there are too many connections', ({ data }) => (data.DATABASE_POOL = '20'), 'connections'],
  [
    'NetworkPolicy',
    'a policy opens another port',
    ({ spec }) => (spec.ingress[0].ports[0].port = 8080),
    'nobody has the port',
  ],
  ['ConfigMap', 'the server listens elsewhere', ({ data }) => (data.PORT = '8080'), 'has the port PORT'],
  ['Deployment', 'the image is the latest', (m) => (container(m).image = 'sallyport:latest'), 'names no version'],
  [
    'Job',
    'the image has no tag',
    (m) => (container(m).image = 'registry.example.com:5000/sallyport'),
    'names no version',
  ],
  [
    'Deployment',
    'the root is written',
    (m) => (container(m).securityContext.readOnlyRootFilesystem = false),
    'too much',
  ],
  ['Job', 'it may be root', ({ spec }) => (spec.template.spec.securityContext.runAsNonRoot = false), 'too much'],
  ['Job', 'it has a token', ({ spec }) => delete spec.template.spec.automountServiceAccountToken, 'too much'],
  ['Deployment', 'it may take all memory', (m) => delete container(m).resources.limits, 'too much'],
  ['Deployment', 'a volume is missing', ({ spec }) => spec.template.spec.volumes.pop(), 'no volume is at tmp'],
]

describe('the manifests for Kubernetes', () => {
  let server: TestServer
  let adminPaths: readonly string[]
  before(async () => {
    server = await startTestServer()
    const asked = await Promise.all(
      ['/livez', '/readyz', '/healthz', '/metrics'].map(async (path) => {
        const { ok } = await fetch(`${server.app.adminUrl}${path}`)
        return ok ? [path] : []
      }),
    )
    adminPaths = asked.flat()
  })
  after(() => server.stop())

  it('fit the schemas of Kubernetes, and have no field that it does not know', async () => {
    const kinds = COMPONENTS.map((component) => manifestsOf(component))
    expect(await schemaFaults([...kinds.flat(), ...readManifests('example', 'namespace.yaml')])).to.deep.equal([])
  })

  it('are refused by these schemas for a wrong value, a missing one, and a field with a slip', async () => {
    const broken = [
      oneBroken('Deployment', ({ spec }) => (spec.template.spec.containers[0].livenessProbe.httpGet.path = 5)),
      oneBroken('Deployment', ({ spec }) => delete spec.selector),
      oneBroken('Deployment', ({ spec }) => (spec.template.spec.containers[0].readynessProbe = {})),
      oneBroken('Job', ({ spec }) => (spec.template.spec.restartPolicys = 'Never')),
      oneBroken('ServiceMonitor', ({ spec }) => (spec.endpoints[0].prt = 'admin')),
      oneBroken('ServiceMonitor', ({ spec }) => delete spec.selector),
    ]
    for (const [at, { metadata }] of broken.entries()) metadata.name = `broken-${at}`
    const found = (await schemaFaults(broken)).join('\n')
    expect(broken.filter((_, at) => !found.includes(`broken-${at}: `))).to.deep.equal([])
  })

  it('keep the rules of a server that drains, with each way to have a policy', () => {
    for (const component of COMPONENTS) {
      expect(faultsOf(manifestsOf(component), { adminPaths }), component).to.deep.equal([])
    }
  })

  for (const [kind, what, breakIt, fault] of BROKEN) {
    it(`are faulty if ${what}`, () => {
      expect(faultsOf(change(kind, breakIt), { adminPaths }).join('\n')).to.contain(fault)
    })
  }

  it('name files and folders that are there, and change settings that base has', () => {
    const lost = folders().flatMap((folder) => {
      const { resources = [], patches = [], components = [], configMapGenerator = [] } = kustomizationOf(folder)
      const files = [...resources, ...components, ...patches.map(({ path }) => path)]
      return [...files, ...configMapGenerator.flatMap(({ envs = [] }) => envs)].filter(
        (file) => !existsSync(join(FOLDER, folder, file)),
      )
    })
    expect(lost).to.deep.equal([])
    expect(folders()).to.have.members(['base', 'example', 'migrate', ...COMPONENTS])
    const names = kustomizationOf('example').configMapGenerator?.map(({ name }) => name)
    expect(names).to.deep.equal(kustomizationOf('base').configMapGenerator?.map(({ name }) => name))
  })

  it('run a migration with options that the command has', async () => {
    const { command } = manifestsOf().find(({ kind }) => kind === 'Job').spec.template.spec.containers[0]
    expect(command.slice(0, 2)).to.deep.equal(['node', 'bin/sallyport.js'])
    expect(read('Dockerfile')).to.contain('WORKDIR /app').and.to.contain('COPY bin ./bin')
    const [right, wrong] = await Promise.all([
      sallyport([...command.slice(2), '--help']),
      sallyport([...command.slice(2), '--no-such-option']),
    ])
    expect([right.code, wrong.code]).to.deep.equal([0, 2])
  })

  it('have the version of the program, and the secrets and ConfigMaps that docs/kubernetes.md makes', () => {
    const { version } = JSON.parse(read('package.json'))
    const page = read('docs/kubernetes.md')
    for (const folder of ['base/deployment.yaml', 'migrate/job.yaml']) {
      expect(read(`deploy/kubernetes/${folder}`)).to.contain(`image: sallyport:${version}\n`)
    }
    const text = JSON.stringify(COMPONENTS.map((component) => manifestsOf(component)))
    const keys = new Set(
      [...text.matchAll(/"secretKeyRef":\{"name":"sallyport","key":"([A-Z_]+)"\}/g)].map(([, key]) => key),
    )
    expect([...keys]).to.have.members(['ADMIN_TOKEN', 'DATABASE_URL', 'KEYS_SECRET', 'REDIS_URL'])
    for (const key of keys) expect(page).to.contain(`--from-literal=${key}=`)
    for (const map of ['sallyport-policies', 'sallyport-policy-key']) {
      expect(text).to.contain(`"configMap":{"name":"${map}"}`)
      expect(page).to.contain(`create configmap ${map} `)
    }
  })
})

/** The manifests, one of them broken. */
function change(kind: string, breakIt: (manifest: Manifest) => unknown): readonly Manifest[] {
  const manifests = manifestsOf('monitoring')
  breakIt(manifests.find((manifest) => manifest.kind === kind))
  return manifests
}

function oneBroken(kind: string, breakIt: (manifest: Manifest) => unknown): Manifest {
  return change(kind, breakIt).find((manifest) => manifest.kind === kind)
}
