/**
 * A text editor with findings at its lines: CodeMirror in a shadow root, where its style sheets are constructed ones, so
 * that the Content-Security-Policy needs no exception for them. The Tab key leaves it, as on the rest of the page.
 */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import type { Finding, MeaningOfLine } from '../api/types.ts'
import { completing, type TellNames } from './completing.ts'
import { lineMeanings, showMeanings } from './line-meanings.ts'

export interface Editor {
  /** Those of this text alone. */
  showFindings(findings: readonly Finding[]): void
  /** Behind the lines of this text. */
  showMeanings(meanings: readonly MeaningOfLine[]): void
  goTo(line: number): void
  remove(): void
}

export interface EditorOptions {
  readonly place: HTMLElement
  readonly label: string
  readonly text: string
  readonly tellNames: TellNames
  readonly onChange: (text: string) => void
}

const TELL_MS = 150

const LOOK = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--card)', fontSize: '13px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--quiet)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--focus) 8%, transparent)' },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--card)', color: 'var(--text)', borderColor: 'var(--line)' },
})

export function createEditor({ place, label, text, tellNames, onChange }: EditorOptions): Editor {
  let timer = 0
  const tell = () => {
    if (timer === 0) return
    clearTimeout(timer)
    timer = 0
    onChange(view.state.doc.toString())
  }
  // A text of a hundred thousand lines isn't put together at each key.
  const tellSoon = () => {
    timer ||= setTimeout(tell, TELL_MS)
  }
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' })
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        highlightActiveLine(),
        lineMeanings,
        completing(tellNames),
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorView.updateListener.of(({ docChanged }) => {
          if (docChanged) tellSoon()
        }),
        // What comes next, e.g. a button, counts on all that was typed.
        EditorView.domEventHandlers({ blur: tell }),
        LOOK,
      ],
    }),
  })
  // Before others ask there whether anything was typed.
  window.addEventListener('beforeunload', tell, true)
  return {
    showFindings: (findings) => {
      view.dispatch(
        setDiagnostics(
          view.state,
          findings.map((finding) => diagnosticOf(finding, view.state)),
        ),
      )
    },
    showMeanings: (meanings) => view.dispatch(showMeanings(meanings, view.state)),
    goTo: (line) => {
      const { from } = view.state.doc.line(within(line, view.state))
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
      view.focus()
    },
    remove: () => {
      tell()
      window.removeEventListener('beforeunload', tell, true)
      view.destroy()
    },
  }
}

/** Meanwhile the text may have fewer lines than when it was checked. */
function within(line: number, { doc }: EditorState): number {
  return Math.min(Math.max(line, 1), doc.lines)
}

function diagnosticOf({ line, column, severity, message, hint, code }: Finding, state: EditorState): Diagnostic {
  const { from, to } = state.doc.line(within(line, state))
  const text = hint === undefined ? message : `${message}: ${hint}`
  return { from: Math.min(from + Math.max(0, column - 1), to), to, severity, message: text, source: code }
}
