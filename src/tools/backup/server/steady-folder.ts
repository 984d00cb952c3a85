/** Small files of a folder, all as they were at one moment, although others may write them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { metadataOf } from '../../../policy/policy-files.ts'
import { ToolError } from '../../load-policy.ts'

const MOST_READINGS = 20
const PAUSE_MS = 50

export interface SmallFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** The wanted names of files in a folder or below it. */
type NamesIn = (folder: string) => Promise<readonly string[]>

/** By name. Follows links. Throws ToolError if the files never stand still, and errors of the file system. */
export async function readSteadily(folder: string, namesIn: NamesIn): Promise<readonly SmallFile[]> {
  for (let reading = 1; reading <= MOST_READINGS; reading += 1) {
    const before = await lookAt(folder, namesIn)
    const files = await readAll(folder, [...before.keys()])
    if (files && sameLook(before, await lookAt(folder, namesIn))) return files
    await sleep(PAUSE_MS)
  }
  throw new ToolError(`the files of \`${folder}\` kept changing while they were read; try again`)
}

type FileStates = ReadonlyMap<string, string>

async function lookAt(folder: string, namesIn: NamesIn): Promise<FileStates> {
  const looks = (await namesIn(folder))
    .toSorted()
    .map(async (name) => [name, await metadataOf(join(folder, name))] as const)
  return new Map(await Promise.all(looks))
}

/** Undefined if a file was removed meanwhile. */
async function readAll(folder: string, names: readonly string[]): Promise<readonly SmallFile[] | undefined> {
  try {
    return await Promise.all(names.map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function sameLook(one: FileStates, other: FileStates): boolean {
  return one.size === other.size && [...one].every(([name, look]) => other.get(name) === look)
}
