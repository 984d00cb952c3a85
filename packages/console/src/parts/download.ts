/** Gives a text to the browser as a file. */

export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** RFC 4180. */
export function csvOf(rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => (/[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}
