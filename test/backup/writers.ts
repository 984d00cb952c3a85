/** Clients that write notes without a pause, and what a backup must have of them. */
import type { TestServer } from '../server.ts'

/** The last acknowledged write to a note. */
type Acknowledged = 'created' | 'changed' | 'deleted'

/** By the id of the note. */
type History = ReadonlyMap<string, Acknowledged>

export interface Note {
  readonly id: string
  readonly title: string
  readonly body: string
  readonly tags: readonly string[]
}

export interface Writers {
  acknowledged(): History
  /** Throws if a write was refused. */
  stop(): Promise<void>
}

export async function startWriters(server: TestServer, clients: number): Promise<Writers> {
  const history = new Map<string, Acknowledged>()
  let stopped = false
  const token = await server.token('bob', 'member')

  /** Every write sets all fields of a note to one text, so that a half write would be seen. */
  async function write(method: string, path: string, text: string, status: number): Promise<string> {
    const body = method === 'DELETE' ? null : JSON.stringify({ title: text, body: text, tags: [text] })
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { authorization: `Bearer ${token}`, ...(body === null ? {} : { 'content-type': type }) }
    const response = await fetch(server.url + path, { method, headers, body })
    const answer = await response.text()
    if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${answer}`)
    return answer
  }

  /** One note after the other is created; every second one is changed, and every tenth one deleted. */
  async function client(name: number): Promise<void> {
    for (let n = 0; !stopped; n += 1) {
      const kind = n % 10 === 0 ? 'goes' : 'stays'
      const { id } = JSON.parse(await write('POST', '/api/v1/notes', `c${name}-${n}-${kind}`, 201))
      history.set(id, 'created')
      if (n % 2 !== 0) continue
      await write('PATCH', `/api/v1/notes/${id}`, `c${name}-${n}-${kind}-changed`, 200)
      history.set(id, 'changed')
      if (n % 10 !== 0) continue
      await write('DELETE', `/api/v1/notes/${id}`, '', 204)
      history.set(id, 'deleted')
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, name) => client(name)))
  return {
    acknowledged: () => new Map(history),
    async stop() {
      stopped = true
      await running
    },
  }
}

/** What is wrong with these notes. `before` was acknowledged before the backup began, `after` when it was done. */
export function faultsOf(found: readonly Note[], before: History, after: History): readonly string[] {
  const byId = new Map(found.map((note) => [note.id, note]))
  const half = found.filter(({ title, body, tags }) => body !== title || tags.join() !== title)
  return [
    ...half.map(({ id }) => `${id} is half there`),
    ...[...before].flatMap(([id, last]) => faultOf(byId.get(id), last, after.get(id) === 'deleted') ?? []),
  ]
}

function faultOf(note: Note | undefined, last: Acknowledged, wentLater: boolean): string | undefined {
  if (last === 'deleted') return note && `${note.id} was deleted and is there`
  if (!note) return wentLater ? undefined : `a note that was ${last} is missing`
  return last === 'changed' && !note.title.endsWith('-changed') ? `${note.id} is older than acknowledged` : undefined
}
