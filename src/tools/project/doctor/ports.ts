/** The ports: free, or who answers there; and the address that other services are told. */
import { type Checked, faulted, passed, warned } from '../../../base/problems/checked.ts'
import { againWith } from '../../../base/problems/mend.ts'
import type { Config } from '../../../config/config.ts'
import { faultOfPort, type ListeningPlace, portFault } from '../../../config/start/start-faults.ts'

const ANSWER_MS = 2000

export async function checkPorts({ host, port, admin, publicUrl }: Config): Promise<readonly Checked[]> {
  const adminPlace = { name: 'ADMIN_PORT', host: admin.host, port: admin.port } as const
  const isOurs = await answersAsOurs(adminPlace)
  const places = [{ name: 'PORT', host, port } as const, adminPlace]
  return [...(await Promise.all(places.map((place) => checkPort(place, isOurs)))), ...checkAddress(host, publicUrl)]
}

/** Where the server listens on every address, none of them is known to others (docs/authzen.md, the metadata). */
function checkAddress(host: string, publicUrl: string | undefined): readonly Checked[] {
  if (publicUrl !== undefined || (host !== '0.0.0.0' && host !== '::')) return []
  const message = `PUBLIC_URL is not set, so other services that ask are told to ask ${host}, which they can't reach`
  return [warned('ports', message, againWith('PUBLIC_URL', 'https://api.example.com'))]
}

async function checkPort(place: ListeningPlace, isOurs: boolean): Promise<Checked> {
  const { name, host, port } = place
  if (port === 0) return passed('ports', `${name} is 0: the system chooses one`)
  const fault = await faultOfPort(port, host)
  if (fault === undefined) return passed('ports', `${name} ${port} of ${host} is free`)
  if (fault.code === 'EADDRINUSE' && isOurs) {
    return passed('ports', `${name} ${port} of ${host} is taken, and a Sallyport server answers on the admin port`)
  }
  const { message, fix } = await portFault(place, fault)
  return faulted('ports', message, fix)
}

/** Only the admin port is asked: a request to the other one would leave a record in the decision log. */
async function answersAsOurs({ host, port }: ListeningPlace): Promise<boolean> {
  const here = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const url = `http://${here.includes(':') ? `[${here}]` : here}:${port}/livez`
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) })
    return typeof ((await response.json()) as { status?: unknown }).status === 'string'
  } catch {
    return false
  }
}
