// Not part of the program: test/openapi/following-client.test.ts makes the client, compiles this, and runs it against a server.
import {
  ApiProblem,
  type Client,
  connect,
  type EventOptions,
} from '../../examples/typescript-client/generated/parcels.ts'

export { ApiProblem, connect }

/** A copy of what the list shows, and how it came about. */
export interface Copy {
  readonly parcels: Map<string, { readonly state?: 'new' | 'sent' | 'lost' }>
  readonly kinds: string[]
  lastId: string
}

export async function keepCopy(api: Client, copy: Copy, options: EventOptions): Promise<void> {
  for await (const { id, event, data } of api.parcels.events({}, options)) {
    copy.kinds.push(event)
    copy.lastId = id
    switch (event) {
      case 'reset': {
        const reason: 'start' | 'missed' | 'access' = data.reason
        copy.kinds.push(reason)
        copy.parcels.clear()
        for await (const parcel of api.parcels.list()) copy.parcels.set(parcel.id ?? '', parcel)
        break
      }
      case 'gone':
        copy.parcels.delete(data.id)
        break
      default:
        copy.parcels.set(data.id, data)
    }
  }
}

/** The states of a parcel, the newest first, and its state at a time. */
export async function pastOf(api: Client, id: string, time: string): Promise<unknown> {
  const states: unknown[] = []
  for await (const { version, object } of api.parcels.history(id).list({ limit: 2 }))
    states.push([version, object?.state])
  const { items, next } = await api.parcels.history(id).page({ limit: 1 })
  const then = await api.parcels.history(id).at(time)
  const writer: string | undefined = then.by?.subject
  const tooEarly = await api.parcels
    .history(id)
    .at('2001-01-01T00:00:00Z')
    .catch((error: unknown) => error instanceof ApiProblem && error.code === 'version-not-found')
  return {
    states,
    first: [items[0]?.version, next !== null],
    atTime: [then.version, then.object.state, writer],
    tooEarly,
  }
}

export async function mistakes(api: Client): Promise<void> {
  for await (const told of api.parcels.events()) {
    void told.data.id // error: a reset has no id
    if (told.event === 'gone') void told.data.state // error: of what is gone, the id alone is told
    if (told.event === 'reset' && told.data.reason === 'late') return // error: no such reason
    if (told.event === 'vanished') return // error: no such event
  }
  void api.parcels.events({ state: 'nowhere' }) // error: no such state
  void api.parcels.events({ limit: 5 }) // error: a stream has no pages
  void api.parcels.events({}, { ifMatch: '*' }) // error: no such option
  void api.parcels.events({ signal: AbortSignal.timeout(1) }) // error: options come second
  void api.teams.events() // error: nobody follows teams
  void api.teams.history('1') // error: teams have no history
  void api.parcels.history('1').list({ at: '2026-01-01T00:00:00Z' }) // error: one time is one version
  const version = await api.parcels.history('1').at('2026-01-01T00:00:00Z')
  void version.state // error: it is the object's
  void api.parcels.history('1').at(5) // error: no time
  connect({ url: '', token: (refused: number) => `${refused}` }) // error: a token is a text
}
