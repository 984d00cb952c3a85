/** What people do beside the instances: publish a policy, and read everything that the database has in the end. */
import { readConfig } from '../../src/config/config.ts'
import { withSequence } from '../../src/decision-log/record-line.ts'
import { withKeys } from '../../src/identity/keys/embedded/kept-keys.ts'
import { publicHalf, readPolicySigner } from '../../src/identity/keys/policy-keys.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { revisionOfContent } from '../../src/policy/policy-files.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import {
  type Database,
  openDatabaseBeside,
  openPolicyVersions,
  openReader,
  readDatabaseUrl,
} from '../../src/store/open.ts'
import { openDatabaseTarget } from '../../src/tools/release/database-target.ts'
import type { Cluster } from './cluster.ts'
import { OBJECTS, type PolicyKind, PROJECT, policyFiles, roleOf, USERS } from './world.ts'

const DAY_MS = 86_400_000

function databaseOf(cluster: Cluster): Database {
  const found = readDatabaseUrl(cluster.databaseUrl())
  if ('fault' in found) throw new Error(found.fault)
  return found
}

function contentOf(kind: PolicyKind, label: string): ReadonlyMap<string, Buffer> {
  return new Map([...policyFiles(kind, label)].map(([name, text]) => [name, Buffer.from(text)]))
}

export function revisionOf(kind: PolicyKind, label: string): string {
  return revisionOfContent(contentOf(kind, label), '')
}

const unapproved = () => Promise.reject(new Error('nothing was approved'))

/** The number of the new version, when it is acknowledged. */
export async function publish(cluster: Cluster, kind: PolicyKind, label: string): Promise<number> {
  const versions = await openPolicyVersions(databaseOf(cluster))
  if (!versions) throw new Error('the database keeps no policies')
  const signer = await readPolicySigner(cluster.signingKey)
  const target = await openDatabaseTarget({ versions, signer, keys: await publicHalf(signer), judge: unapproved })
  try {
    const about = { over: '', kind: 'applied', reason: undefined, of: undefined, sameRules: false } as const
    const version = await target.put({ ...about, content: contentOf(kind, label), now: new Date(), blocks: [] })
    return version?.number ?? 0
  } finally {
    await target.close()
  }
}

async function openStore(cluster: Cluster) {
  return openDatabaseBeside(databaseOf(cluster), {
    resources: await loadResources(cluster.schemas),
    now: () => new Date(),
  })
}

/** Stores the objects, and a session for each user. By user, a token. */
export async function fill(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const { store, seeding, directory } = await openStore(cluster)
  try {
    for (const [resource, objects] of Object.entries(OBJECTS)) await seeding.insert(resource, objects)
    const now = Date.now()
    for (const userId of USERS) {
      await directory.setPassword(userId, { hash: 'none', oneTime: false })
      const refresh = { family: `family-${userId}`, current: `current-${userId}` }
      const ends = { endsAt: now + DAY_MS, idleEndsAt: now + DAY_MS }
      await directory.openSession({ id: userId, userId, createdAt: now, ...ends, refresh }, { hash: 'none' })
    }
  } finally {
    await store.close()
  }
  return tokens(cluster)
}

function tokens(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const env = { DATABASE_URL: cluster.databaseUrl(), KEYS_SECRET: cluster.secret, DATA_DIR: cluster.folder }
  const config = readConfig(env)
  const { dataDirectory, database, tokens: settings } = config
  if (settings.keys.kind !== 'embedded') throw new Error('the keys are elsewhere')
  const { secrets } = settings.keys
  return withKeys({ dataDirectory, database, secrets }, async (kept) => {
    const { current } = await kept.read()
    const lifetimeSeconds = DAY_MS / 1000
    await kept.noteToken(current, DAY_MS)
    const { issuer, audience } = settings
    const issue = (subject: string) =>
      issueToken(current.key, {
        subject,
        roles: [roleOf(subject)],
        issuer,
        audience,
        lifetimeSeconds,
        session: subject,
      })
    return new Map(await Promise.all(USERS.map(async (user) => [user, await issue(user)] as const)))
  })
}

export interface Stored {
  /** By id, the title of each task. */
  readonly tasks: ReadonlyMap<string, string>
  /** The lines of the outbox: records that no instance has moved to its log yet. */
  readonly outbox: readonly string[]
  /** By revision, the number of the version. */
  readonly versions: ReadonlyMap<string, number>
}

export async function readAll(cluster: Cluster): Promise<Stored> {
  const database = databaseOf(cluster)
  const resources = await loadResources(cluster.schemas)

  const reader = await openReader(database)
  const tasks = resources.byName.get('tasks')
  if (!tasks) throw new Error('there are no tasks')
  const objects = await reader.find(tasks, 'projectId', [PROJECT], 1_000_000)
  await reader.close()
  const { store, outbox } = await openStore(cluster)
  const waiting = await outbox.waiting(1_000_000)
  await store.close()
  const published = await openPolicyVersions(database)
  const versions = (await published?.all()) ?? []
  await published?.close()

  return {
    tasks: new Map(objects.map(({ id, document }) => [id, String(document.title)])),
    outbox: waiting.map(({ record, sequence }) => withSequence(record, sequence)),
    versions: new Map(versions.map(({ number, signed }) => [revisionIn(signed), number])),
  }
}

/** The payload of a JWS is its second part. */
function revisionIn(signed: string): string {
  return JSON.parse(Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString()).revision
}
