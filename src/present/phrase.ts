/**
 * Sentences whose names stay apart from their words, because names come from files that anyone may have proposed: a
 * user id that reads like a sentence, or like markup, must not pass for one. Rendering is plainText and markdownText.
 */

type Part = { readonly kind: 'words'; readonly text: string } | { readonly kind: 'name'; readonly text: string }

export type Phrase = readonly Part[]

/** A template: what is interpolated is a name, or a phrase. */
export function say(words: TemplateStringsArray, ...values: readonly (string | number | Phrase)[]): Phrase {
  return words.flatMap((text, i): Phrase => {
    const value = values[i]
    const before: Phrase = text === '' ? [] : [{ kind: 'words', text }]
    if (value === undefined) return before
    return [...before, ...(typeof value === 'object' ? value : [{ kind: 'name', text: String(value) } as const])]
  })
}

/** `a, b and c`. */
export function listed(items: readonly (string | Phrase)[], last = say` and `, comma = say`, `): Phrase {
  return items.flatMap((item, i): Phrase => {
    if (i === 0) return say`${item}`
    return i === items.length - 1 ? say`${last}${item}` : say`${comma}${item}`
  })
}

/** One line whatever is in a name; a name that could be taken for words stands in quotes. */
export function plainText(phrase: Phrase): string {
  return phrase.map(({ kind, text }) => (kind === 'words' ? text : plainName(text))).join('')
}

function plainName(text: string): string {
  const visible = visibleText(text)
  return /^[\p{L}\p{N}_.:@/*+{}=-]+$/u.test(text) ? text : `"${visible.replaceAll('"', '\\"')}"`
}

/** For GitHub's dialect: names as code, where neither mentions nor links are made; every sign in them as an entity. */
export function markdownText(phrase: Phrase): string {
  return phrase
    .map(({ kind, text }) => (kind === 'words' ? text : `<code>${entities(visibleText(text))}</code>`))
    .join('')
}

/** CommonMark section 2.5: an entity is never markup. */
function entities(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} ]/gu, (sign) => `&#${sign.codePointAt(0)};`)
}

/** What is invisible, or turns the direction of text, shown by its number. */
function visibleText(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
}
