/** What changed lines mean, in grey behind each: text that is no part of what is edited. */
import { type EditorState, type Extension, StateEffect, StateField, type TransactionSpec } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view'
import type { MeaningOfLine } from '../api/types.ts'

class Meaning extends WidgetType {
  readonly #says: readonly string[]

  constructor(says: readonly string[]) {
    super()
    this.#says = says
  }

  override eq(other: Meaning): boolean {
    return this.#says.join('\n') === other.#says.join('\n')
  }

  toDOM(): HTMLElement {
    const [first = '', ...more] = this.#says
    const shown = document.createElement('span')
    shown.className = 'cm-meaning'
    shown.textContent = more.length === 0 ? first : `${first} (and ${more.length} more)`
    shown.title = this.#says.join('\n')
    return shown
  }
}

const SHOW = StateEffect.define<DecorationSet>()

const SHOWN = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (before, { changes, effects }) => {
    const told = effects.find((effect) => effect.is(SHOW))
    // Until the next answer, each stays behind its text.
    return told ? (told.value as DecorationSet) : before.map(changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

const LOOK = EditorView.theme({
  '.cm-meaning': { paddingLeft: '2ch', color: 'var(--quiet)', fontStyle: 'italic' },
})

export const lineMeanings: Extension = [SHOWN, LOOK]

/** Meanwhile the text may have fewer lines than when it was judged: what is behind its end isn't shown. */
export function showMeanings(meanings: readonly MeaningOfLine[], { doc }: EditorState): TransactionSpec {
  const placed = meanings
    .filter(({ line }) => line <= doc.lines)
    .map(({ line, says }) => Decoration.widget({ widget: new Meaning(says), side: 1 }).range(doc.line(line).to))
  return { effects: SHOW.of(Decoration.set(placed, true)) }
}
