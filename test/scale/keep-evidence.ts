/** Keeps what a failed scale test leaves, so that its cause can be found: the logs, and each request with its answer. */
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import type { History } from './history.ts'

/** Returns the folder, which stays. */
export function keepEvidence({ folder, primary, replica, patroni }: Cluster, history: History | undefined): string {
  const kept = mkdtempSync(join(tmpdir(), 'sallyport-scale-failed-'))
  cpSync(folder, kept, { recursive: true })
  const servers = patroni
    ? patroni.nodes.map((node) => [node.name, node] as const)
    : Object.entries({ primary, replica })
  for (const [name, server] of servers) writeFileSync(join(kept, `${name}.log`), server.log())
  const { operations = [], removals = [], published = [] } = history ?? {}
  writeFileSync(join(kept, 'history.json'), JSON.stringify({ operations, removals, published }, undefined, 1))
  return kept
}
