/** What a program does with notes: make one, walk through all, and change one without losing anybody's update. */
import { ApiProblem, type Client, type Schemas } from '../generated/api.ts'

export type Note = Schemas['Note']

/** Sent again where nobody knows whether it arrived, and made once all the same. */
export async function makeNote(api: Client, body: Schemas['NoteNew']): Promise<Note> {
  return api.notes.create(body)
}

/** The titles of all notes, the newest first: each page is asked for when it is needed. */
export async function titlesOf(api: Client): Promise<readonly (string | undefined)[]> {
  const titles: (string | undefined)[] = []
  for await (const note of api.notes.list({ sort: ['-createdAt'], limit: 2 })) titles.push(note.title)
  return titles
}

/** Calls `change` with the note as it is, and again if another writer was faster (412). */
export async function changeNote(api: Client, id: string, change: (note: Note) => Schemas['NotePatch']): Promise<Note> {
  for (;;) {
    const note = await api.notes.get(id)
    try {
      return await api.notes.update(note, change(note))
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.code !== 'precondition-failed') throw error
    }
  }
}

/** What a page offers its user for a note. */
export interface Offers {
  readonly mayDelete: boolean
  /** The fields that the user may change. */
  readonly inputs: Schemas['NoteCan']['fields']
}

/** The buttons and inputs that a page shows for a note. */
export async function offersOf(api: Client, id: string): Promise<Offers> {
  const { can } = await api.notes.get(id, { can: true })
  return { mayDelete: can?.actions.includes('delete') ?? false, inputs: can?.fields ?? [] }
}

/** The fields with a mistake, for the form that the person filled in. Undefined: the note was made. */
export async function mistakesIn(api: Client, body: Schemas['NoteNew']): Promise<ApiProblem['errors'] | undefined> {
  try {
    await api.notes.create(body)
    return undefined
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'invalid-body') return error.errors
    throw error
  }
}
