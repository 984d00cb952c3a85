/** The terms of a relation column: `name` holds, `!name` doesn't. */

export function nameOf(term: string): string {
  return term.startsWith('!') ? term.slice(1) : term
}

export function fits(terms: readonly string[], holding: ReadonlySet<string>): boolean {
  return terms.every((term) => holds(term, holding))
}

export function holds(term: string, holding: ReadonlySet<string>): boolean {
  return holding.has(nameOf(term)) !== term.startsWith('!')
}
