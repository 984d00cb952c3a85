/** Policy directories for the commands that change them, and what a server would read of them. */
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readBlockedFile, readPolicyFiles, revisionOf } from '../../src/policy/policy-files.ts'
import { digestOf, type PolicyContent, readContent } from '../../src/tools/release/content.ts'
import { type Home, linkedHome } from '../../src/tools/release/folder/layout.ts'
import { putInForce } from '../../src/tools/release/folder/put-in-force.ts'
import { homeOf } from '../../src/tools/release/folder/versions-folder.ts'
import type { Version } from '../../src/tools/release/version.ts'
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
    return linkedHome(this.live)
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

export async function revisionIn(directory: string): Promise<string> {
  return revisionOf(await readPolicyFiles(directory), await readBlockedFile(directory))
}

export async function digestIn(directory: string): Promise<string> {
  return digestOf(await readContent(directory))
}

export async function apply(directory: string, content: PolicyContent): Promise<Version> {
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
