/** sallyport lsp: the language server that an editor starts. */
import { Command, Option } from 'commander'
import { commandProcess } from '../base/command-process.ts'
import { MATRICES, POLICIES, SCHEMAS, settingsWith, withHelp } from './options.ts'

export function lspCommand() {
  return withHelp(new Command('lsp'), {
    about: 'serve an editor: findings while you type, completion, what a line grants, renaming',
    note: `An editor starts this command and talks to it over standard input and output, by the Language Server Protocol.
docs/editors.md has the lines for Neovim, Helix and VS Code. The folders are relative to the one that the editor has
open, and every project below it is found by these names.`,
    examples: ['lsp', 'lsp --policies deploy/policies --schemas deploy/schemas'],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(MATRICES)
    .option(
      '--log <file>',
      'the decision log, for when a line was used last (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)',
    )
    .addOption(new Option('--stdio', 'the only way to talk; editors may name it').hideHelp())
    .addOption(new Option('--clientProcessId <id>', 'of the editor').hideHelp())
    .action(async (flags) => {
      const { serveEditor } = await import('../lsp/language-server.ts')
      const { policies, schemas, matrices, log, decisionLog } = await settingsWith(flags)
      serveEditor(commandProcess(), { policies, schemas, matrices }, log ?? decisionLog.file)
    })
}
