/** A port that can't be opened, and one that can. */
import { createServer } from 'node:net'
import { againWith } from '../../base/problems/mend.ts'
import { ConfigError } from '../values.ts'

export interface ListeningPlace {
  /** The setting. */
  readonly name: 'PORT' | 'ADMIN_PORT'
  readonly port: number
  readonly host: string
}

/** Below it, a port needs rights that a server shouldn't have. */
const FIRST_FREE = 1024
/** So many ports are tried. */
const NEXT = 50

export async function portFault(
  { name, port, host }: ListeningPlace,
  { code }: NodeJS.ErrnoException,
): Promise<ConfigError> {
  const why = code === 'EADDRINUSE' ? `${code}, another program has it` : code
  const fault = `${name} ${port} of ${host} can't be opened (${why}); choose another port or host`
  if (code !== 'EADDRINUSE' && code !== 'EACCES') {
    return new ConfigError(fault, againWith(name === 'PORT' ? 'HOST' : 'ADMIN_HOST', '127.0.0.1'))
  }
  const free = await nextFree(port < FIRST_FREE ? port + 8000 : port + 1, host)
  return new ConfigError(fault, againWith(name, free))
}

async function nextFree(first: number, host: string): Promise<number> {
  for (let port = first; port < Math.min(first + NEXT, 65_536); port += 1) {
    if ((await faultOfPort(port, host)) === undefined) return port
  }
  return 0
}

/** The system's error; undefined for a port that is free. */
export function faultOfPort(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer().once('error', resolve)
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}
