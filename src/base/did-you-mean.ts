/** Suggests the known name that an unknown one probably meant: a role, a resource, a user, a command. */
import { distance } from 'fastest-levenshtein'

/** The greatest distance, as a number of inserted, removed or replaced characters. */
const FARTHEST = 3
/** The least equal part of the longer name: a name with three wrong letters of four is another word. */
const LEAST_ALIKE = 0.4

/** `; did you mean \`member\`?`, for the end of a sentence; empty if no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const found = nearestName(name, known)
  return found === undefined ? '' : `; did you mean \`${found}\`?`
}

/** A hint with all known names, then the nearest one. */
export function oneOf(name: string, known: Iterable<string>): string {
  const names = [...known]
  if (names.length === 0) return 'nothing is declared yet'
  return `one of ${names.join(', ')}${didYouMean(name, names)}`
}

/** The first of the nearest names. Case, and stray characters at the ends, don't count as differences. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let found: string | undefined
  let least = FARTHEST + 1
  for (const candidate of known) {
    const far = farFrom(bare(name), bare(candidate))
    if (far >= least) continue
    least = far
    found = candidate
  }
  return found
}

function farFrom(name: string, candidate: string): number {
  const length = Math.max(name.length, candidate.length)
  if (length - Math.min(name.length, candidate.length) > FARTHEST) return Number.POSITIVE_INFINITY
  const far = distance(name, candidate)
  return (length - far) / length > LEAST_ALIKE ? far : Number.POSITIVE_INFINITY
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}/*]/gu, '')
}
