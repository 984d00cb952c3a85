/** A body that a handler has written as text. */

/** JSON that is turned into text only once, for all readers. */
export class WrittenJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
