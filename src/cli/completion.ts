/** sallyport completion: prints a script for the shell, which asks this program for the possible next words. */
import { Argument, Command, type CommandUnknownOpts, type Option } from 'commander'
import { print } from '../present/print.ts'
import { withHelp } from './options.ts'

interface CompletionCandidate {
  readonly word: string
  readonly description: string
}

/** If the program has no candidate, the shell completes file names. */
const SHELLS = {
  bash: {
    script: `_sallyport() {
  local IFS=$'\\n'
  COMPREPLY=($(sallyport completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _sallyport sallyport
`,
    lineOf: ({ word }: CompletionCandidate) => word,
  },
  zsh: {
    script: `#compdef sallyport
_sallyport() {
  local -a candidates
  candidates=("\${(@f)$(sallyport completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$candidates" ]]; then _describe sallyport candidates; else _files; fi
}
compdef _sallyport sallyport
`,
    lineOf: ({ word, description }: CompletionCandidate) => `${word.replaceAll(':', '\\:')}:${description}`,
  },
  fish: {
    script: `function __sallyport
  sallyport completion fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c sallyport -n 'test -n "$(__sallyport)"' -f -a '(__sallyport)'
`,
    lineOf: ({ word, description }: CompletionCandidate) => `${word}\t${description}`,
  },
} as const

/** `load` builds the program with the command group that a word names, or with all groups. */
export function completionCommand(load: (word?: string) => Promise<Command>) {
  return withHelp(new Command('completion'), {
    about: 'print a script that makes your shell complete the commands and options of sallyport',
    note: `Add one line to the start-up file of your shell:
  ~/.bashrc                    source <(sallyport completion bash)
  ~/.zshrc                     source <(sallyport completion zsh)
  ~/.config/fish/config.fish   sallyport completion fish | source`,
    examples: ['completion bash', 'completion zsh', 'completion fish', 'completion bash -- policy ch'],
  })
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .argument('[words...]', 'after --: the words typed so far; prints the possible next words')
    .action(async (shell, words) => {
      const { script, lineOf } = SHELLS[shell]
      if (words.length === 0) return print(script)
      const found = candidatesFor(await load(words.length > 1 ? words[0] : undefined), words)
      print(found.map((candidate) => `${lineOf(candidate)}\n`).join(''))
    })
}

/** The candidates for the last word. */
function candidatesFor(program: CommandUnknownOpts, words: readonly string[]): readonly CompletionCandidate[] {
  const last = words.at(-1) ?? ''
  const { command, option, operands } = commandAt(program, words.slice(0, -1))
  return candidatesOf(command, option, { last, operands }).filter(({ word }) => word.startsWith(last))
}

interface CompletionPoint {
  readonly command: CommandUnknownOpts
  /** The option that the last word is the value of. */
  readonly option: Option | undefined
  /** The number of the command's arguments before the last word. */
  readonly operands: number
}

function commandAt(program: CommandUnknownOpts, words: readonly string[]): CompletionPoint {
  let reached: CompletionPoint = { command: program, option: undefined, operands: 0 }
  for (const word of words) {
    const { command, option, operands } = reached
    const part = command.commands.find((one) => one.name() === word)
    const flag = command.options.find(({ long, short }) => word === long || word === short)
    if (option) reached = { command, option: undefined, operands }
    else if (part) reached = { command: part, option: undefined, operands: 0 }
    else if (flag) reached = { command, option: flag.required || flag.optional ? flag : undefined, operands }
    else reached = { command, option, operands: operands + (word.startsWith('-') ? 0 : 1) }
  }
  return reached
}

function candidatesOf(
  command: CommandUnknownOpts,
  option: Option | undefined,
  { last, operands }: { readonly last: string; readonly operands: number },
): readonly CompletionCandidate[] {
  const help = command.createHelp()
  if (option) return (option.argChoices ?? []).map((word) => ({ word, description: '' }))
  if (last.startsWith('-')) {
    return help.visibleOptions(command).map(({ long, description }) => ({ word: long ?? '', description }))
  }
  const choices = command.registeredArguments[operands]?.argChoices ?? []
  return [
    ...help.visibleCommands(command).map((one) => ({ word: one.name(), description: one.description() })),
    ...choices.map((word) => ({ word, description: '' })),
  ]
}
