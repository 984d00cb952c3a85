/** A project as its users have it: made by `sallyport init`, with the packed program beside it and a lock of npm's own. */
import { execFileSync } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pack } from '../../scripts/pack.ts'
import { ranIn } from '../project/projects.ts'
import { startRegistry } from '../project/registry.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** Returns the folder of the project. */
export async function makeProject(folder: string, name: string): Promise<string> {
  const project = join(folder, name)
  execFileSync(process.execPath, [join(ROOT, 'bin/sallyport.js'), 'init', name, '--yes'], { cwd: folder })
  const tarball = await pack(join(folder, 'packed'))
  await copyFile(tarball, join(project, basename(tarball)))
  const registry = await startRegistry(new Map())
  try {
    const env = { ...process.env, npm_config_registry: registry.url, npm_config_audit: 'false' }
    const install = ['npm', 'install', '--package-lock-only', `./${basename(tarball)}`]
    const { code, stderr } = await ranIn(project, env, install)
    if (code !== 0) throw new Error(`no lock can be made: ${stderr}`)
  } finally {
    await registry.stop()
  }
  return project
}
