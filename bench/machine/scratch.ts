/** Folders that are gone when the bench ends, whatever ends it: a run leaves gigabytes otherwise. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()
process.on('exit', () => folders.forEach(removeScratch))

/** A new one. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))
  folders.add(folder)
  return folder
}

export function removeScratch(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}
