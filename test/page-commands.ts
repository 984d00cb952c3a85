/**
 * The commands that a page starts with npm run in this process, which takes a tenth of the time: Bash writes down each of
 * them, with what it would have of Bash, and waits for its exit code. All other commands are started as they are.
 */
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sallyport } from './command.ts'
import { removeFolder } from './ends-with-tests.ts'

export interface PageCommands {
  /** What Bash reads before the commands. */
  readonly bash: string
  /** The path of a program that stands for `sallyport`: each of its commands runs in this process. */
  readonly program: string
  close(): Promise<void>
}

export async function openPageCommands(): Promise<PageCommands> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-commands-'))
  const server = createServer((socket) => {
    socket.once('data', async (asked) => socket.end(`${await runWritten(String(asked).trim())}\n`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const program = join(folder, 'sallyport')
  await writeFile(
    program,
    `#!/usr/bin/env bash
      asked=$(mktemp -d '${folder}/XXXXXX')
      printf '%s\\0' "$PWD" "$@" > "$asked/line"
      env -0 > "$asked/env"
      cat > "$asked/stdin"
      exec {call}<>/dev/tcp/127.0.0.1/${port}
      echo "$asked" >&$call
      read -r code <&$call
      cat "$asked/stdout"
      cat "$asked/stderr" >&2
      exit "$code"
    `,
  )
  await chmod(program, 0o755)
  return {
    program,
    bash: `npm() {
      if [ "$1 $2 $3 $4" != 'run -s sallyport --' ] || [ "$5" = serve ]; then command npm "$@"; return; fi
      # npm tells what it runs.
      npm_lifecycle_event=sallyport '${program}' "\${@:5}"
    }`,
    close: async () => {
      server.close()
      await removeFolder(folder)
    },
  }
}

async function runWritten(folder: string): Promise<number> {
  const [cwd = '', ...args] = await textsIn(join(folder, 'line'))
  const variables = (await textsIn(join(folder, 'env'))).map((text) => {
    const at = text.indexOf('=')
    return [text.slice(0, at), text.slice(at + 1)]
  })
  // Those of this process that it would not have are unset.
  const unset = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]))
  const env = { ...unset, ...Object.fromEntries(variables) }
  const input = await readFile(join(folder, 'stdin'), 'utf8')
  const { code, stdout, stderr } = await sallyport(args, { cwd, env, input })
  await writeFile(join(folder, 'stdout'), stdout)
  await writeFile(join(folder, 'stderr'), stderr)
  return code
}

async function textsIn(file: string): Promise<readonly string[]> {
  return (await readFile(file, 'utf8')).split('\0').slice(0, -1)
}
