/** The draft of this tab: the files that differ from those it began with. It stays while pages change. */
import { session } from '../api/session.ts'
import type { LineEdit, PolicyFiles } from '../api/types.ts'
import { createStore } from '../parts/store.ts'

interface Draft {
  readonly begun: PolicyFiles
  readonly changed: ChangedFiles
  /** Another one for each draft that is begun. */
  readonly turn: number
}

/** New texts by file name; null takes a file away. */
export type ChangedFiles = Readonly<Record<string, string | null>>

export const draft = createStore<Draft | undefined>(undefined)

// Another person must not find it.
session.follow(() => {
  if (session.get().kind === 'none') draft.set(undefined)
})

window.addEventListener('beforeunload', (event) => {
  if (isTyped()) event.preventDefault()
})

/** There is something to lose. */
export function isTyped(): boolean {
  return Object.keys(draft.get()?.changed ?? {}).length > 0
}

export function begin(files: PolicyFiles): void {
  draft.set({ begun: files, changed: {}, turn: (draft.get()?.turn ?? 0) + 1 })
}

export function change(name: string, text: string | null): void {
  const now = draft.get()
  if (!now) return
  const { [name]: _before, ...others } = now.changed
  draft.set({ ...now, changed: text === now.begun.files[name] ? others : { ...others, [name]: text } })
}

/** Begins with the files in force, changed to those of a version. What blocks users stays as it is. */
export function takeVersion(inForce: PolicyFiles, files: PolicyFiles['files']): void {
  begin(inForce)
  for (const name of new Set([...Object.keys(inForce.files), ...Object.keys(files)])) {
    if (name !== 'blocked.txt') change(name, files[name] ?? null)
  }
}

/** Begins with the files in force, with changed lines. */
export function takeEdits(inForce: PolicyFiles, edits: readonly LineEdit[]): void {
  begin(inForce)
  for (const [file, ofFile] of Map.groupBy(edits, (edit) => edit.file)) {
    const texts = new Map(ofFile.map(({ line, text }) => [line, text]))
    const lines = (inForce.files[file] ?? '').split('\n').flatMap((line, i) => {
      const text = texts.get(i + 1)
      return text === null ? [] : [text ?? line]
    })
    change(file, lines.join('\n'))
  }
}
