/**
 * Sentences that keep names apart from words, because names come from files that anyone may have proposed: a user id
 * that reads like a sentence, or like markup, must not pass for one. plainText and markdownText render them.
 */
import { printable } from './quote.ts'

type PhrasePart = { readonly kind: 'words'; readonly text: string } | { readonly kind: 'name'; readonly text: string }

export type Phrase = readonly PhrasePart[]

/** A template; the interpolated values are names or phrases. */
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

/** Renders one line, whatever the names contain; a name that looks like words is quoted. */
export function plainText(phrase: Phrase): string {
  return phrase.map(({ kind, text }) => (kind === 'words' ? text : plainName(text))).join('')
}

function plainName(text: string): string {
  return /^[\p{L}\p{N}_.:@/*+{}=-]+$/u.test(text) ? text : `"${visibleText(text).replaceAll('"', '\\"')}"`
}

/** For GitHub's dialect: names are code, so they make no mentions or links; every sign in them is an entity. */
export function markdownText(phrase: Phrase): string {
  return phrase
    .map(({ kind, text }) => (kind === 'words' ? text : `<code>${entities(visibleText(text))}</code>`))
    .join('')
}

/** CommonMark section 2.5: an entity is never markup. */
function entities(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} ]/gu, (sign) => `&#${sign.codePointAt(0)};`)
}

export function visibleText(text: string): string {
  return printable(text.replaceAll('\\', '\\\\'))
}
