/** Says in sentences what an archive has, and what a server needs to use it. */
import type { Manifest } from '../../tools/backup/archive/manifest.ts'

export function describeManifest(manifest: Manifest): string {
  const { createdAt, program, engine, policy, decisionLog, needs } = manifest
  const inPolicy = policy.place === 'folder' ? `revision ${policy.revision}` : `published version ${policy.sequence}`
  const lines = [
    `  made       ${createdAt}, by version ${program}`,
    `  database   ${engine}: ${objectsOf(manifest)}`,
    `  policy     ${inPolicy}`,
    `  keys       ${keysOf(manifest)}`,
    `  decisions  up to write ${decisionLog.lastWrite}; records that wait for their log: ${decisionLog.waiting}`,
    ...(needs.length > 0 ? [`  needs      ${needs.join(', ')} as on the server`] : []),
  ]
  return `${lines.join('\n')}\n`
}

function objectsOf({ database: { objects } }: Manifest): string {
  const counts = Object.entries(objects).map(([table, count]) => `${count} ${table.replace(/^objects_/, '')}`)
  return counts.length > 0 ? counts.join(', ') : 'no objects'
}

function keysOf({ signingKeys }: Manifest): string {
  if (signingKeys.place === 'elsewhere') return 'none: tokens are signed elsewhere'
  if (signingKeys.place === 'folder') return `${signingKeys.files} in files, readable to whoever reads the archive`
  return `in the database, encrypted under KEYS_SECRET (${signingKeys.secrets.join(', ') || 'no key yet'})`
}
