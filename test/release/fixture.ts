/** Policy directories for the commands that change them, and what a server would read of them. */
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replaceLink } from '../../src/base/files/durable-file.ts'
import { readBlockedFile, readPolicyFiles, revisionOf } from '../../src/policy/policy-files.ts'
import { digestOf, type PolicyContent, readContent } from '../../src/tools/release/content.ts'
import { type Home, homeOf, VERSIONS } from '../../src/tools/release/folder/layout.ts'
import { putInForce } from '../../src/tools/release/folder/put-in-force.ts'
import type { PolicyVersion } from '../../src/tools/release/version.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export class Folders {
  readonly root: string
  constructor(root: string) {
    this.root = root
  }

  static async make(): Promise<Folders> {
    const root = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), join(root, 'policies'), { recursive: true })
    return new Folders(root)
  }

  get live(): string {
    return join(this.root, 'policies')
  }

  get home(): Home {
    return homeIn(this.live)
  }

  /** A copy of the shipped policy with a line more at the end of policy.csv. */
  async candidate(name: string, line: string): Promise<string> {
    const folder = join(this.root, name)
    await removeFolder(folder)
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    await addRules(join(folder, 'policy.csv'), line)
    return folder
  }

  async remove(): Promise<void> {
    await removeFolder(this.root)
  }
}

/** A directory outside a git work tree. */
export function homeIn(directory: string): Home {
  const versions = join(directory, VERSIONS)
  return { directory, versions, current: join(versions, '.current'), settled: versions }
}

/** Rewrites versions in a directory as 0.1 left them: each has a copy `live`, and the files are links to the last one's. */
export async function asIn01(directory: string): Promise<void> {
  const { versions, current } = homeIn(directory)
  const last = await readlink(current)
  for (const name of (await readdir(versions)).filter((one) => /^\d/.test(one))) {
    const files = (await readdir(join(versions, name))).filter((file) => file !== 'version.json')
    await mkdir(join(versions, name, 'live'))
    for (const file of files) {
      await copyFile(join(versions, name, file), join(versions, name, 'live', file))
      await chmod(join(versions, name, 'live', file), 0o644)
      if (name === last) await replaceLink(join(directory, file), `.current/${file}`)
    }
  }
  await symlink(`.versions/${last}/live`, join(directory, '.current'))
  await rm(current)
}

export async function revisionIn(directory: string): Promise<string> {
  return revisionOf(await readPolicyFiles(directory), await readBlockedFile(directory))
}

export async function digestIn(directory: string): Promise<string> {
  return digestOf(await readContent(directory))
}

export async function apply(directory: string, content: PolicyContent): Promise<PolicyVersion> {
  const over = await digestIn(directory)
  return putInForce(await homeOf(directory, join(directory, '../data')), {
    content,
    over,
    kind: 'applied',
    reason: undefined,
    of: undefined,
    now: new Date(),
  })
}
