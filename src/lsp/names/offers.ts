/** What may stand at a place of a file: names, each with its meaning, and words that are no names. */
import type { SourceFile } from '../../base/diagnostic.ts'
import type { FoldersInEditor } from '../edited-project.ts'
import { meaningOfName, namesFor, type ProjectNames } from './known-names.ts'
import type { NameKind } from './name-slot.ts'
import { slotAt } from './slots.ts'

interface Offer {
  readonly name: string
  readonly kind: NameKind | 'word'
  readonly meaning: string | undefined
}

export interface Offers {
  /** What a chosen name replaces: offsets in the text, in UTF-16 code units. */
  readonly start: number
  readonly end: number
  readonly offers: readonly Offer[]
}

/** Stands at the cursor, so that an empty place is a name too. It fits every form of name. */
const MARK = 'zzcursorzz'

/** Undefined where no name may stand, and where one is declared. */
export function offersAt(
  source: SourceFile,
  offset: number,
  folders: FoldersInEditor,
  known: ProjectNames,
): Offers | undefined {
  const text = `${source.text.slice(0, offset)}${MARK}${source.text.slice(offset)}`
  // Behind the first letter of the mark, so that a name that ends at the cursor isn't meant.
  const slot = slotAt({ ...source, text }, offset + 1, folders, known.resources)
  if (!slot?.name.includes(MARK) || slot.declares) return undefined
  const names = [...namesFor(slot, known)].map(([name, kind]): Offer => {
    return { name, kind, meaning: meaningOfName(kind, name, slot.about, known) }
  })
  const words = slot.words.map((name): Offer => ({ name, kind: 'word', meaning: undefined }))
  return { start: slot.start, end: slot.end - MARK.length, offers: [...names, ...words] }
}
