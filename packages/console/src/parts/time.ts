/** Times for people, in the reader's zone; the exact one stands in the records. */

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export function dateTime(text: string): string {
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? text : FORMAT.format(time)
}
