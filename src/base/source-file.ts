/** A file that a person edits: the name that diagnostics call it by, and its text. */
export interface SourceFile {
  readonly name: string
  readonly text: string
}
