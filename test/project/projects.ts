/** Projects in temporary folders, and the commands that run in them as npm would run them. */
import { type ExecFileException, execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Workshop {
  readonly folder: string
  /** Runs `sallyport` of this checkout in the folder `inside`. */
  sallyport(inside: string, ...args: readonly string[]): Promise<Ran>
  /** Runs the commands of a script of the project's package.json. */
  script(inside: string, name: string): Promise<Ran>
  remove(): Promise<void>
}

/** An empty folder, where `sallyport` is a command. */
export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-project-'))
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'sallyport'), `#!/bin/sh\nexec '${process.execPath}' '${ROOT}bin/sallyport.js' "$@"\n`)
  await chmod(join(bin, 'sallyport'), 0o755)
  const env = { ...process.env, PATH: [bin, process.env.PATH].join(delimiter) }
  return {
    folder,
    sallyport: (inside, ...args) => sallyport(args, { cwd: join(folder, inside), env: { PATH: env.PATH } }),
    script: async (inside, name) => {
      const { scripts } = JSON.parse(await readFile(join(folder, inside, 'package.json'), 'utf8'))
      const all: Ran[] = []
      for (const command of scripts[name].split(' && ')) {
        const [, ...words] = command.split(' ')
        all.push(await sallyport(words, { cwd: join(folder, inside), env: { PATH: env.PATH } }))
        if (all.at(-1)?.code !== 0) break
      }
      return {
        code: all.at(-1)?.code ?? 1,
        stdout: all.map(({ stdout }) => stdout).join(''),
        stderr: all.map(({ stderr }) => stderr).join(''),
      }
    },
    remove: () => removeFolder(folder),
  }
}

export function ranIn(cwd: string, env: NodeJS.ProcessEnv, [program = '', ...args]: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd, env, maxBuffer: 1 << 26 }
    execFile(program, args, options, (error: ExecFileException | null, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    }).stdin?.end()
  })
}

/** Of the names and contents of all files below a folder, the names within `base`. */
export async function sumOf(folder: string, base = '/'): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const path of entries.map((entry) => join(entry.parentPath, entry.name)).sort()) {
    hash.update(relative(base, path))
    hash.update(await readFile(path).catch(() => 'a folder'))
  }
  return hash.digest('hex')
}
