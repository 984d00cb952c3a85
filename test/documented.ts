/** The commands of a page of docs/, and the output that the page shows of them. */

export interface Block {
  /** One a line; a command that reads lines up to `EOF` has them. */
  readonly commands: readonly string[]
  /** Lines or parts of lines that the page shows below them; none where it shows nothing. */
  readonly output: readonly string[]
}

/** Commands are indented by four spaces; output stands in a fenced block of `text`. */
export function blocksOf(page: string): readonly Block[] {
  const parts = page.matchAll(
    /(?<=\n\n)(?<commands> {4}\S.*\n(?: {4}.*\n)*)(?:\n```text\n(?<output>(?:(?!```).*\n)*)```\n)?/g,
  )
  return [...parts].map(({ groups = {} }) => ({
    commands: commandsIn(linesOf(groups.commands ?? '').map((line) => line.slice(4))),
    output: linesOf(groups.output ?? ''),
  }))
}

/** The part of a page below a heading of the second level, up to the next one. */
export function sectionOf(page: string, heading: string): string {
  const [, after = ''] = page.split(`\n## ${heading}\n`)
  return after.split('\n## ')[0] ?? ''
}

function commandsIn(lines: readonly string[]): readonly string[] {
  const text = lines.join('\n')
  return text.match(/^.*<<(?:'EOF'|EOF)\n(?:.*\n)*?EOF$|^.+$/gm) ?? []
}

/** What is shown and wasn't printed. Times, revisions and ids may be others. */
export function missingFrom(printed: string, shown: readonly string[]): readonly string[] {
  const found = alike(printed)
  return shown.filter((line) => !found.includes(alike(line)))
}

function alike(text: string): string {
  return text
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<id>')
    .replaceAll(/\b[0-9a-f]{16}\b/g, '<revision>')
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}
