/** What a program does with notes: make one, walk through all, and change one without losing anybody's update. */
import type { components, paths } from '../generated/api.d.ts'
import { type Api, Refused } from './connect.ts'

export type Note = components['schemas']['Note']
type NotePage = components['schemas']['NotePage']
type Query = NonNullable<paths['/api/v1/notes']['get']['parameters']['query']>
export type ListedNote = components['schemas']['NoteListed']

/** Each note has a key of its own, which all attempts send. */
export async function makeNote(api: Api, body: components['schemas']['NoteNew']): Promise<Note> {
  const header = { 'Idempotency-Key': crypto.randomUUID() }
  const { data, error } = await api.POST('/api/v1/notes', { params: { header }, body })
  if (!data) throw new Refused(error)
  return data
}

/** Reads one page after another, until there is no next page. */
export async function* allNotes(api: Api): AsyncGenerator<ListedNote> {
  let cursor: string | null = null
  do {
    const page: NotePage = await pageOfNotes(api, { limit: 2, sort: ['-createdAt'], ...(cursor && { cursor }) })
    yield* page.items
    cursor = page.next
  } while (cursor !== null)
}

async function pageOfNotes(api: Api, query: Query): Promise<NotePage> {
  const { data, error } = await api.GET('/api/v1/notes', { params: { query } })
  if (!data) throw new Refused(error)
  return data
}

/** What a page offers its user for a note. */
export interface Offers {
  readonly mayDelete: boolean
  /** The fields that the user may change. */
  readonly inputs: components['schemas']['NoteCan']['fields']
}

/** The buttons and inputs that a page shows for a note. */
export async function offersOf(api: Api, id: string): Promise<Offers> {
  const { data, error } = await api.GET('/api/v1/notes/{id}', { params: { path: { id }, query: { can: true } } })
  if (!data) throw new Refused(error)
  return { mayDelete: data.can?.actions.includes('delete') ?? false, inputs: data.can?.fields ?? [] }
}

/** Calls `change` with the note as it is, and again if another writer was faster (412). */
export async function changeNote(
  api: Api,
  id: string,
  change: (note: Note) => components['schemas']['NotePatch'],
): Promise<void> {
  const path = { id }
  for (;;) {
    const read = await api.GET('/api/v1/notes/{id}', { params: { path } })
    if (!read.data) throw new Refused(read.error)
    const header = { 'If-Match': read.response.headers.get('ETag') ?? '*' }
    const { error } = await api.PATCH('/api/v1/notes/{id}', {
      params: { path, header },
      body: change(read.data),
      headers: { 'Content-Type': 'application/merge-patch+json' },
    })
    if (!error) return
    if (error.code !== 'precondition-failed') throw new Refused(error)
  }
}
