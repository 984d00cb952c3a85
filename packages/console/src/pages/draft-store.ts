/** The draft of this tab: the files that differ from those it began with. It stays while pages change. */
import { keep, kept } from '../api/kept.ts'
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
  if (session.get().kind !== 'none') return
  draft.set(undefined)
  beforeReload.set(undefined)
})

window.addEventListener('beforeunload', (event) => {
  if (isTyped()) event.preventDefault()
})

/** There is something to lose. */
export function isTyped(): boolean {
  return beforeReload.get() !== undefined || Object.keys(draft.get()?.changed ?? {}).length > 0
}

// ---- Over a reload --------------------------------------------------------------------------------------------------

interface KeptDraft {
  /** Of the policy that it began with. */
  readonly revision: string
  readonly changed: ChangedFiles
}

/** What was typed before a reload, until the person says whether to go on with it. */
export const beforeReload = createStore<KeptDraft | undefined>(keptDraft())

/** Whether a reload would lose the draft. */
export const isTooLong = createStore(false)

const PAUSE_MS = 300
let pausing: ReturnType<typeof setTimeout> | undefined

draft.follow(() => {
  clearTimeout(pausing)
  pausing = setTimeout(keepDraft, PAUSE_MS)
})
window.addEventListener('pagehide', keepDraft)

function keepDraft(): void {
  clearTimeout(pausing)
  if (beforeReload.get()) return
  const { begun, changed } = draft.get() ?? {}
  const isChanged = changed !== undefined && Object.keys(changed).length > 0
  isTooLong.set(!keep('draft', isChanged ? { revision: begun?.revision, changed } : undefined))
}

/** Undefined for nothing, and for what no draft can be. */
function keptDraft(): KeptDraft | undefined {
  const { revision, changed } = (kept('draft') ?? {}) as Partial<KeptDraft>
  if (typeof revision !== 'string' || typeof changed !== 'object' || changed === null) return undefined
  const isWhole = Object.values(changed).every((text) => text === null || typeof text === 'string')
  return isWhole ? { revision, changed } : undefined
}

/** The page tells where the policy in force is another one than at its beginning. */
export function goOn(inForce: PolicyFiles): void {
  const before = beforeReload.get()
  if (!before) return
  begin({ ...inForce, revision: before.revision })
  for (const [name, text] of Object.entries(before.changed)) change(name, text)
}

/** Another draft takes the place of this one, and of one from before a reload. */
export function begin(files: PolicyFiles): void {
  beforeReload.set(undefined)
  show(files)
}

/** Begins where there is no draft yet. */
export function show(files: PolicyFiles): void {
  draft.set({ begun: files, changed: {}, turn: (draft.get()?.turn ?? 0) + 1 })
}

export function change(name: string, text: string | null): void {
  const now = draft.get()
  if (now) draft.set({ ...now, changed: changedWith(name, text) })
}

/** The changed files, once this one has this text. */
export function changedWith(name: string, text: string | null): ChangedFiles {
  const { begun, changed = {} } = draft.get() ?? {}
  const { [name]: _before, ...others } = changed
  return text === begun?.files[name] ? others : { ...others, [name]: text }
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
