/** A tarball of a version that comes after the packed one, and differs in what `upgrade --check` looks at. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Installed } from './installed.ts'
import { ranIn } from './projects.ts'

export interface NextVersion {
  readonly version: string
  readonly tarball: string
}

/** Its access matrix grants only what two rules allow, and it has a list in its CHANGELOG. */
export async function packNextVersion({ folder, env }: Installed): Promise<NextVersion> {
  const next = join(folder, 'next')
  await cp(join(folder, 'package'), next, { recursive: true })
  const edit = async (name: string, from: string, to: string) => {
    const text = await readFile(join(next, name), 'utf8')
    if (!text.includes(from)) throw new Error(`${name} has no \`${from}\` to change`)
    await writeFile(join(next, name), text.replace(from, to))
  }
  const { version: present } = JSON.parse(await readFile(join(next, 'package.json'), 'utf8'))
  const [major = 0, minor = 0] = present.split('.').map(Number)
  const version = `${major}.${minor + 1}.0`
  await edit('package.json', `"version": "${present}"`, `"version": "${version}"`)
  await edit('dist/decide/grants/direct.js', 'return naming.length>0', 'return naming.length>1')
  await edit('CHANGELOG.md', '\n## ', `\n## ${version}\n\nAn upgrade must know:\n\n- One rule is\n  not enough.\n\n## `)
  const { stdout, stderr } = await ranIn(folder, env, ['npm', 'pack', '--json', '--pack-destination', folder, next])
  if (stdout === '') throw new Error(`the next version can't be packed: ${stderr}`)
  return { version, tarball: join(folder, JSON.parse(stdout)[0].filename) }
}
