/** A service of a compose file as the flags of `docker run`. A key that it doesn't know is an error, not left out. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'

type Service = Readonly<Record<string, unknown>>

/** These concern other services, or what happens after the container has ended. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'build',
  'image',
  'depends_on',
  'networks',
  'ports',
  'volumes',
  'restart',
])

const FLAGS: Readonly<Record<string, (value: never, folder: string) => readonly string[]>> = {
  read_only: (value: boolean) => (value ? ['--read-only'] : []),
  tmpfs: (values: readonly string[]) => values.flatMap((value) => ['--tmpfs', value]),
  cap_drop: (values: readonly string[]) => values.flatMap((value) => ['--cap-drop', value]),
  security_opt: (values: readonly string[]) => values.flatMap((value) => ['--security-opt', value]),
  stop_grace_period: (value: string) => ['--stop-timeout', String(Number.parseInt(value, 10))],
  environment: (values: Service) => Object.entries(values).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
  env_file: (files: readonly { readonly path: string }[], folder: string) =>
    files.flatMap(({ path }) => ['--env-file', join(folder, path)]),
}

/** Keys of a service that have no place on a page. */
export const SETTINGS = ['environment', 'env_file']

/** `without`: keys to leave out beside those that concern other services. */
export async function flagsOf(file: string, service: string, without: readonly string[]): Promise<readonly string[]> {
  const { services } = parse(await readFile(file, 'utf8'), { merge: true })
  return Object.entries(services[service] as Service).flatMap(([key, value]) => {
    if (LEFT_OUT.has(key) || without.includes(key)) return []
    const flags = FLAGS[key]
    if (!flags) throw new Error(`${file} has ${key}, which this test doesn't know`)
    return flags(value as never, dirname(file))
  })
}
