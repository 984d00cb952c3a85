/** A migration, or a start, that can't go on. The message is one sentence for whoever started it: what to do. */
export class MigrationRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MigrationRefused'
  }
}
