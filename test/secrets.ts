/**
 * What no log may hold: every credential that a test server was sent or gave out, and every password and hash. Each
 * server's logs are searched when it stops; a root hook (.mocharc.json) fails the whole run when something was found.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Shorter ones would be found by accident. */
const SHORTEST = 12

const found: string[] = []

export const mochaHooks = {
  afterAll(): void {
    if (found.length > 0) throw new Error(`a log holds what is secret:\n${found.join('\n')}`)
  },
}

export class Secrets {
  readonly #values = new Set<string>()

  /** The value of a header Authorization, a token, a password, a hash: its parts count one by one. */
  add(secret: string): void {
    this.#values.add(secret)
  }

  /** The members of a body of /api/tokens, sent or answered. */
  addMembers(json: unknown): void {
    for (const name of ['password', 'newPassword', 'access_token', 'refresh_token']) {
      const value = (json as Readonly<Record<string, unknown>> | null | undefined)?.[name]
      if (typeof value === 'string') this.add(value)
    }
  }

  /** The secrets that stand in a text, shortened so that telling of them doesn't tell them. */
  findIn(text: string): readonly string[] {
    const words = new Set(partsOf(text))
    const whole = [...this.#values].filter((secret) => secret.length >= SHORTEST && /\s/.test(secret))
    const leaked = [...this.#values].flatMap(partsOf).filter((part) => part.length >= SHORTEST && words.has(part))
    return [...leaked, ...whole.filter((secret) => text.includes(secret))].map((secret) => `${secret.slice(0, 6)}…`)
  }
}

/** Remembered until the run ends. */
export async function searchLogs(
  secrets: Secrets,
  { folder, log }: { folder: string; log: readonly unknown[] },
): Promise<void> {
  const ordinary = secrets.findIn(JSON.stringify(log))
  const decisions = secrets.findIn(await decisionLogs(join(folder, 'data')))
  for (const secret of ordinary) found.push(`the log of the server of ${folder}: ${secret}`)
  for (const secret of decisions) found.push(`the decision log of the server of ${folder}: ${secret}`)
}

async function decisionLogs(folder: string): Promise<string> {
  const names = await readdir(folder).catch(() => [])
  const logs = names.filter((name) => name.startsWith('decisions.log'))
  return (await Promise.all(logs.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')))).join('\n')
}

/** Dots join what is secret by itself; an API key's secret is behind its last underscore. */
function partsOf(text: string): readonly string[] {
  const words = text.split(/[^\w~+/=-]+/)
  return [...words, ...words.flatMap((word) => (word.startsWith('sp_') ? word.split('_').slice(-1) : []))]
}
