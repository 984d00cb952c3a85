/** Line numbers as ranges: `1-500`, `502`. */

export function lineRanges(lines: readonly number[]): readonly string[] {
  const ranges: { readonly from: number; to: number }[] = []
  for (const line of lines.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1)
    if (last && line === last.to + 1) last.to = line
    else ranges.push({ from: line, to: line })
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`))
}
