/** The tools of the example, with what a call does; notes in memory are behind them. */

interface Tool {
  readonly description: string
  /** Told to the policy decision point with each question. */
  readonly effect: 'reads' | 'changes' | 'destroys'
  readonly inputSchema: object
  run(args: Readonly<Record<string, unknown>>): string
}

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }

const notes = ['buy milk', 'call Bob']

export const TOOLS: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  [
    'find_notes',
    {
      description: 'Finds the notes that have a text.',
      effect: 'reads',
      inputSchema: TEXT,
      run: ({ text }) => notes.filter((note) => note.includes(String(text))).join('\n'),
    },
  ],
  [
    'add_note',
    {
      description: 'Adds a note.',
      effect: 'changes',
      inputSchema: TEXT,
      run: ({ text }) => `${notes.push(String(text))} notes`,
    },
  ],
  [
    'delete_notes',
    {
      description: 'Deletes all notes.',
      effect: 'destroys',
      inputSchema: { type: 'object' },
      run: () => `deleted ${notes.splice(0).length} notes`,
    },
  ],
])
