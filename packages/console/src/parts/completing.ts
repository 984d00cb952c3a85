/** Names that may stand at the cursor, as the server tells them: when a name begins, and with Ctrl-Space. */
import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import type { NamesAtPlace } from '../api/types.ts'

/** Of a text; line and column from 1. Undefined where none can be told. */
export type TellNames = (text: string, line: number, column: number) => Promise<NamesAtPlace | undefined>

/** What a name consists of, so that typing on asks nothing again. */
const NAME = /^[\w:*/-]*$/

const LOOK = EditorView.theme({
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--focus)', color: 'var(--card)' },
  '.cm-completionDetail': { color: 'var(--quiet)', fontStyle: 'normal' },
  '[aria-selected] > .cm-completionDetail': { color: 'inherit' },
  '.cm-tooltip.cm-completionInfo': { whiteSpace: 'pre-line' },
})

/** Enter takes a name only after an arrow key: whoever types on gets a new line. */
export function completing(tell: TellNames): Extension {
  const source = (context: CompletionContext) => namesAt(context, tell)
  return [autocompletion({ override: [source], icons: false, selectOnOpen: false, interactionDelay: 0 }), LOOK]
}

async function namesAt(context: CompletionContext, tell: TellNames): Promise<CompletionResult | null> {
  const { state, pos, explicit } = context
  const line = state.doc.lineAt(pos)
  if (!explicit && !begins(line.text.slice(0, pos - line.from))) return null
  const told = await tell(state.doc.toString(), line.number, pos - line.from + 1)
  if (!told || context.aborted) return null
  const from = line.from + told.place.column - 1
  const options = told.names.map(({ name, kind, meaning }) => {
    return { label: name, detail: kind, ...(meaning !== null && { info: meaning }) }
  })
  return { from, to: from + told.length, options, validFor: NAME }
}

/** A question for each name, and not for each key. */
function begins(before: string): boolean {
  return /(?:^|[^\w-])\w$/.test(before) && !/^\s*#/.test(before)
}
