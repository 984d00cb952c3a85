/** Keeps what a failed scale test leaves, so that its cause can be found: the logs, and each request with its answer. */
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import type { History } from './history.ts'

/** Returns the folder, which stays. */
export function keepEvidence({ folder, primary, replica }: Cluster, history: History | undefined): string {
  const kept = mkdtempSync(join(tmpdir(), 'sallyport-scale-failed-'))
  cpSync(folder, kept, { recursive: true })
  writeFileSync(join(kept, 'primary.log'), primary.log())
  writeFileSync(join(kept, 'replica.log'), replica.log())
  const { operations = [], removals = [], published = [] } = history ?? {}
  writeFileSync(join(kept, 'history.json'), JSON.stringify({ operations, removals, published }, undefined, 1))
  return kept
}
