/**
 * Finds the folder that really contains the files of a policy directory. Kubernetes makes each file a link into `..data`,
 * which is a link to the files in force, so one rename exchanges all of them; `policy apply` of 0.1 did the same with
 * `.current`. A plain directory contains its files itself.
 */
import { readdir, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

/** The link to the version that was put in force last. */
export const CURRENT = '.current'

/** While `policy apply` writes plain files one by one, this folder holds the previous files, which are in force. */
export const BEFORE = '.before'

/** This file changes independently of the others. */
export const BLOCKED_FILE = 'blocked.txt'

interface SymbolicLink {
  /** The text of the link. */
  readonly target: string
  /**
   * The folder that the link leads to; it is resolved once for all links, so that their files are read from one folder.
   */
  readonly path: string
}

export interface PolicyFolder {
  /** The path that the caller gave. */
  readonly directory: string
  /** The directory's path without links, and its identity: another directory may take over the path. */
  readonly real: string
  readonly identity: string | undefined
  /** The identity of the folder `.before`; undefined in the usual case that it doesn't exist. */
  readonly held: string | undefined
  /** The files that are links, by file name. */
  readonly links: Readonly<Record<string, SymbolicLink>>
}

/** Finds where these files are. Never rejects: a missing file is part of the result. */
export async function findPolicyFolder(directory: string, files: readonly string[]): Promise<PolicyFolder> {
  const real = await realpath(directory).catch(() => directory)
  const [identity, held, found] = await Promise.all([
    identityOf(real),
    identityOf(join(real, BEFORE)),
    linksAmong(real, files),
  ])
  const folders = await followed(real, new Set(found.map(([, target]) => dirname(target))))
  const links = found.map(([file, target]) => {
    return [file, { target, path: join(folders.get(dirname(target)) ?? real, basename(target)) }] as const
  })
  return { directory, real, identity, held, links: Object.fromEntries(links) }
}

/** With their targets. A server looks ten times a second, and each file that is no link would cost an error. */
async function linksAmong(real: string, files: readonly string[]): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(real, { withFileTypes: true }).catch(() => undefined)
  // A folder that lists nothing may still open its files.
  const asked = files.filter((file) => !entries || entries.some((one) => one.name === file && one.isSymbolicLink()))
  const targets = await Promise.all(asked.map((file) => readlink(join(real, file)).catch(() => '')))
  return asked.flatMap((file, at) => (targets[at] ? [[file, targets[at]] as const] : []))
}

async function followed(real: string, folders: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const paths = [...folders].map(async (folder) => {
    const path = resolve(real, folder)
    return [folder, await realpath(path).catch(() => path)] as const
  })
  return new Map(await Promise.all(paths))
}

/** The same place has the same text. */
export function folderKey(place: PolicyFolder): string {
  return JSON.stringify(place)
}

/** The path to read a file by. */
export function filePath({ real, links, held }: PolicyFolder, file: string): string {
  if (held !== undefined && file !== BLOCKED_FILE) return join(real, BEFORE, file)
  return links[file]?.path ?? join(real, file)
}

/** Whether `policy apply` of 0.1 made the link: the version in force may lack the file. */
export function isVersioned({ links, held }: PolicyFolder, file: string): boolean {
  return held === undefined && links[file]?.target === versionLink(file)
}

/** The text of the link of a versioned file. */
export function versionLink(file: string): string {
  return `${CURRENT}/${file}`
}

async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found && `${found.dev} ${found.ino}`
}
