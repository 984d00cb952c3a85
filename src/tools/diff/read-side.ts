/** OLD and NEW of a diff: a directory, or else a git revision. */
import { stat } from 'node:fs/promises'
import type { Resources } from '../../resources/resource.ts'
import { loadPolicy, type ReviewedPolicy } from '../load-policy.ts'
import { withRevision } from './revision.ts'

/** A directory wins over a revision of the same name. Throws ReviewError, and FileError for what the server would refuse. */
export async function readSide(name: string, policies: string, resources: Resources): Promise<ReviewedPolicy> {
  if (await isDirectory(name)) return loadPolicy(name, resources)
  return withRevision(name, policies, (directory) => loadPolicy(directory, resources))
}

async function isDirectory(name: string): Promise<boolean> {
  try {
    return (await stat(name)).isDirectory()
  } catch {
    return false
  }
}
