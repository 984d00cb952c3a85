/** The editor of a file; CodeMirror loads with the first one. Another `name` is another text. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Finding, MeaningOfLine } from '../api/types.ts'
import type { TellNames } from './completing.ts'
import type { Editor } from './editor.ts'

interface LazyEditorProps {
  readonly name: string
  readonly text: string
  readonly findings: readonly Finding[]
  readonly meanings: readonly MeaningOfLine[]
  /** The line to show; a new object shows it again. */
  readonly goal: { readonly line: number } | undefined
  readonly tellNames: TellNames
  readonly onChange: (text: string) => void
}

export function LazyEditor({ name, text, findings, meanings, goal, tellNames, onChange }: LazyEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<Editor>()
  const [isLost, setLost] = useState(false)
  const hear = useRef({ onChange, tellNames })
  hear.current = { onChange, tellNames }
  // Typed text comes back as `text`, and must not make another editor.
  const first = useRef(text)
  useEffect(() => {
    let made: Editor | undefined
    let isGone = false
    import('./editor.ts').then(
      ({ createEditor }) => {
        if (isGone || !place.current) return
        made = createEditor({
          place: place.current,
          label: name,
          text: first.current,
          tellNames: (...at) => hear.current.tellNames(...at),
          onChange: (typed) => hear.current.onChange(typed),
        })
        setEditor(made)
      },
      () => setLost(true),
    )
    return () => {
      isGone = true
      made?.remove()
    }
  }, [name])
  useEffect(() => editor?.showFindings(findings), [editor, findings])
  useEffect(() => editor?.showMeanings(meanings), [editor, meanings])
  useEffect(() => {
    if (goal) editor?.goTo(goal.line)
  }, [editor, goal])
  if (isLost) return <p class="sentence">The editor can't be loaded: the server is away; reload.</p>
  return <div ref={place} class="editor" />
}
