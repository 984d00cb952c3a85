/** What the Dockerfiles need of their base image, made of this machine's files: a shell, Node, npm and the user `node`. */
import { execFileSync } from 'node:child_process'
import { chmod, copyFile, cp, mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const PROGRAMS = ['sh', 'mkdir', 'chown', 'cp', 'rm', 'sleep', 'env']

export async function layBase(folder: string, registry: string): Promise<void> {
  const npm = join(await realpath(which('npm')), '../..')
  for (const name of ['bin', 'etc', 'home/node', 'tmp', 'root', 'usr/bin', 'usr/local/bin', 'usr/local/etc']) {
    await mkdir(join(folder, name), { recursive: true })
  }
  await chmod(join(folder, 'tmp'), 0o1777)
  for (const name of PROGRAMS) await copyProgram(which(name), join(folder, 'bin', name), folder)
  await copyProgram(process.execPath, join(folder, 'usr/local/bin/node'), folder)
  await cp(npm, join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'))
  await symlink('/bin/env', join(folder, 'usr/bin/env'))
  await writeFile(join(folder, 'usr/local/etc/npmrc'), `offline=true\nregistry=${registry}\n`)
  await writeFile(join(folder, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n')
  await writeFile(join(folder, 'etc/group'), 'root:x:0:\nnode:x:1000:\n')
}

/** With the libraries that it loads, at their places. */
async function copyProgram(from: string, to: string, folder: string): Promise<void> {
  await copyFile(await realpath(from), to)
  const loaded = execFileSync('ldd', [from], { encoding: 'utf8' }).matchAll(/(?:=> )?(\/\S+) \(0x/g)
  for (const [, library = ''] of loaded) {
    await mkdir(dirname(join(folder, library)), { recursive: true })
    await copyFile(library, join(folder, library))
  }
}

function which(name: string): string {
  return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
}
