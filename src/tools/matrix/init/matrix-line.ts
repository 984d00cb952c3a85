/** A line of a matrix, as RFC 4180 writes it, but with the line ends of this repository's text files. */
export function lineOf(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\n`
}

function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
