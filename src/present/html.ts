/** HTML, and XML, with its values escaped. */
/** Markup that `html` made. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | readonly Html[] | string | number | false | undefined

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Markup for the text of an element, or for an attribute in quotes. Text is escaped; a list is joined; false and
 * undefined are omitted.
 */
export function html(markup: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(markup.reduce((text, part, i) => text + textOf(values[i - 1]) + part))
}

function textOf(value: Value): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return String(value === undefined || value === false ? '' : value).replace(/[&<>"']/g, (one) => ENTITIES[one] ?? '')
}
