/** What a set of manifests must keep beyond the schemas of Kubernetes, each rule with the sentences of its faults. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, nameOf, ROOT } from './manifests.ts'

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

/** Never in a ConfigMap, and never as a value. */
const SECRET = /^(?:ADMIN_TOKEN|DATABASE_URL|KEYS_SECRET(?:_OLD)?|REDIS_URL|PGPASSWORD)$/

/** PostgreSQL's `max_connections`, less those that it keeps for superusers. */
const CONNECTIONS = 97
/** Of each process, beyond DATABASE_POOL (docs/instances.md). */
const FURTHER_CONNECTIONS = 3

/** The paths that the admin port answers. */
export interface AdminPaths {
  readonly adminPaths: readonly string[]
}

export function faultsOf(manifests: readonly Manifest[], { adminPaths }: AdminPaths): readonly string[] {
  const all = { manifests, adminPaths, pods: manifests.filter(({ spec }) => spec?.template?.spec) }
  return RULES.flatMap((rule) => rule(all))
}

interface All extends AdminPaths {
  readonly manifests: readonly Manifest[]
  /** What makes pods. */
  readonly pods: readonly Manifest[]
}

const RULES: readonly ((all: All) => readonly string[])[] = [
  unknownSettings,
  secretValues,
  wrongProbes,
  shortGrace,
  lostSelectors,
  lostPorts,
  openImages,
  openPods,
  lostMounts,
  uncountedInstances,
]

function containersOf(pods: readonly Manifest[]): readonly { readonly of: string; readonly container: Manifest }[] {
  return pods.flatMap((pod) =>
    pod.spec.template.spec.containers.map((container: Manifest) => ({ of: nameOf(pod), container })),
  )
}

function settingsIn(manifests: readonly Manifest[]): Readonly<Record<string, string>> {
  return (
    manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'sallyport-settings')?.data ?? {}
  )
}

function unknownSettings({ manifests, pods }: All): readonly string[] {
  const table = read('docs/configuration.md').matchAll(/^\| (`[A-Z_]+`(?:(?:, | or )`[A-Z_]+`)*) \|/gm)
  const known = new Set([...table].flatMap(([, names = '']) => names.match(/[A-Z_]+/g) ?? []))
  const named = containersOf(pods).flatMap(({ of, container }) =>
    (container.env ?? []).map(({ name }: Manifest) => ({ of, name })),
  )
  const set = Object.keys(settingsIn(manifests)).map((name) => ({ of: 'ConfigMap sallyport-settings', name }))
  return [...named, ...set].flatMap(({ of, name }) => (known.has(name) ? [] : [`${of}: no setting is called ${name}`]))
}

function secretValues({ manifests, pods }: All): readonly string[] {
  const asValues = containersOf(pods).flatMap(({ of, container }) =>
    (container.env ?? []).flatMap(({ name, valueFrom }: Manifest) =>
      SECRET.test(name) && !valueFrom?.secretKeyRef ? [`${of}: ${name} isn't taken from a Secret`] : [],
    ),
  )
  const open = Object.keys(settingsIn(manifests)).filter((name) => SECRET.test(name))
  const kept = manifests.filter(({ kind }) => kind === 'Secret').map(nameOf)
  return [
    ...asValues,
    ...open.map((name) => `settings: ${name} is secret`),
    ...kept.map((name) => `${name} is kept here`),
  ]
}

function wrongProbes({ manifests, pods, adminPaths }: All): readonly string[] {
  const { ADMIN_PORT } = settingsIn(manifests)
  return containersOf(pods.filter(({ kind }) => kind === 'Deployment')).flatMap(({ of, container }) =>
    ['startupProbe', 'livenessProbe', 'readinessProbe'].flatMap((name) => {
      const { path, port } = container[name]?.httpGet ?? {}
      const number = container.ports.find((one: Manifest) => one.name === port)?.containerPort
      if (!adminPaths.includes(path)) return [`${of}: ${name} asks ${path}, which the admin port doesn't have`]
      return `${number}` === ADMIN_PORT ? [] : [`${of}: ${name} asks another port than ADMIN_PORT`]
    }),
  )
}

/** The server ends by itself: after the wait of preStop, its requests in flight, and the ends of its parts. */
function shortGrace({ pods }: All): readonly string[] {
  const milliseconds = (file: string, name: string) =>
    Number(new RegExp(`^const ${name} = ([\\d_]+)$`, 'm').exec(read(file))?.[1]?.replaceAll('_', ''))
  const drain = milliseconds('src/server/app.ts', 'DRAIN_MS')
  const kill = milliseconds('src/server/workers/primary.ts', 'KILL_MS')
  return pods.flatMap((pod) => {
    const { terminationGracePeriodSeconds: grace, containers } = pod.spec.template.spec
    const wait = containers[0].lifecycle?.preStop?.sleep?.seconds ?? 0
    if (pod.kind === 'Deployment' && wait < 5) return [`${nameOf(pod)}: proxies get no time to learn of its end`]
    return wait + Math.max(drain, kill) / 1000 < grace ? [] : [`${nameOf(pod)}: it is killed before it has drained`]
  })
}

function labelsIn(
  labels: Readonly<Record<string, string>> = {},
  selector: Readonly<Record<string, string>> = {},
): boolean {
  return Object.keys(selector).length > 0 && Object.entries(selector).every(([key, value]) => labels[key] === value)
}

/** kustomize adds it to each manifest. */
const COMMON = { 'app.kubernetes.io/name': 'sallyport' }

function lostSelectors({ manifests, pods }: All): readonly string[] {
  const isPod = (selector: Manifest) => pods.some(({ spec }) => labelsIn(spec.template.metadata.labels, selector))
  const isService = (selector: Manifest) =>
    manifests.some(({ kind, metadata }) => kind === 'Service' && labelsIn({ ...COMMON, ...metadata.labels }, selector))
  return manifests.flatMap((manifest) => {
    const { kind, spec } = manifest
    const holds = {
      Deployment: () => labelsIn(spec.template.metadata.labels, spec.selector.matchLabels),
      Service: () => isPod(spec.selector),
      PodDisruptionBudget: () => isPod(spec.selector.matchLabels),
      NetworkPolicy: () => isPod(spec.podSelector.matchLabels),
      ServiceMonitor: () => isService(spec.selector.matchLabels),
      HorizontalPodAutoscaler: () =>
        pods.some((pod) => pod.kind === spec.scaleTargetRef.kind && pod.metadata.name === spec.scaleTargetRef.name),
    }[kind as string]
    return holds && !holds() ? [`${nameOf(manifest)}: it selects nothing`] : []
  })
}

function lostPorts({ manifests, pods }: All): readonly string[] {
  const ports = containersOf(pods).flatMap(({ container }) => container.ports ?? [])
  const names = new Set(ports.map(({ name }: Manifest) => name))
  const numbers = new Set(ports.map(({ containerPort }: Manifest) => containerPort))
  const served = new Set(
    manifests.flatMap(({ kind, spec }) => (kind === 'Service' ? spec.ports : [])).map(({ name }) => name),
  )
  const { PORT } = settingsIn(manifests)
  const entry = ports.some(({ name, containerPort }: Manifest) => name === 'http' && `${containerPort}` === PORT)
  return [
    ...(entry ? [] : ['no container has the port PORT as `http`']),
    ...manifests.flatMap((manifest) => {
      const { kind, spec } = manifest
      const lost = {
        Service: () => spec.ports.filter(({ targetPort }: Manifest) => !names.has(targetPort)),
        NetworkPolicy: () =>
          (spec.ingress ?? [])
            .flatMap((rule: Manifest) => rule.ports)
            .filter(({ port }: Manifest) => !numbers.has(port)),
        ServiceMonitor: () => spec.endpoints.filter(({ port }: Manifest) => !served.has(port)),
      }[kind as string]
      return (lost?.() ?? []).map(
        (port: Manifest) => `${nameOf(manifest)}: nobody has the port ${JSON.stringify(port)}`,
      )
    }),
  ]
}

function openImages({ pods }: All): readonly string[] {
  return containersOf(pods).flatMap(({ of, container: { image } }) => {
    const tag = /:([\w.-]+)$/.exec(image)?.[1]
    return tag === undefined || tag === 'latest' ? [`${of}: ${image} names no version`] : []
  })
}

function openPods({ pods }: All): readonly string[] {
  return pods.flatMap((pod) => {
    const { automountServiceAccountToken, securityContext: all = {}, containers } = pod.spec.template.spec
    const isClosed = containers.every(
      ({ securityContext: own = {}, resources }: Manifest) =>
        own.readOnlyRootFilesystem === true &&
        own.allowPrivilegeEscalation === false &&
        own.capabilities?.drop?.includes('ALL') &&
        resources?.requests?.memory &&
        resources.limits?.memory,
    )
    const isNobody =
      all.runAsNonRoot === true && all.runAsUser === 1000 && all.seccompProfile?.type === 'RuntimeDefault'
    return isClosed && isNobody && automountServiceAccountToken === false ? [] : [`${nameOf(pod)}: it may do too much`]
  })
}

/** With a read-only root, the server writes to DATA_DIR and to /tmp alone. */
function lostMounts({ pods }: All): readonly string[] {
  return pods.flatMap((pod) => {
    const { containers, volumes = [] } = pod.spec.template.spec
    const names = volumes.map(({ name }: Manifest) => name)
    const mounts = containers.flatMap(({ volumeMounts = [] }: Manifest) => volumeMounts)
    const lost = mounts.filter(({ name }: Manifest) => !names.includes(name))
    const missing = ['/data', '/tmp'].filter((path) => !mounts.some(({ mountPath }: Manifest) => mountPath === path))
    return [...lost.map(({ name }: Manifest) => name), ...missing].map(
      (name) => `${nameOf(pod)}: no volume is at ${name}`,
    )
  })
}

function uncountedInstances({ manifests, pods }: All): readonly string[] {
  const { LIMIT_INSTANCES, DATABASE_POOL } = settingsIn(manifests)
  const most = manifests.find(({ kind }) => kind === 'HorizontalPodAutoscaler')?.spec.maxReplicas
  const surge = pods.find(({ kind }) => kind === 'Deployment')?.spec.strategy?.rollingUpdate?.maxSurge
  const connections = (most + surge) * (Number(DATABASE_POOL) + FURTHER_CONNECTIONS)
  return [
    ...(LIMIT_INSTANCES === `${most}` ? [] : ["LIMIT_INSTANCES isn't the largest number of instances"]),
    ...(connections <= CONNECTIONS ? [] : [`${connections} connections are more than PostgreSQL has by default`]),
  ]
}
