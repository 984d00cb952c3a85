/** Headers as they were sent: Node's parsed ones join or drop what is repeated. */

/** `rawHeaders` alternates names and values. */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  const wanted = name.toLowerCase()
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === wanted)
}
