/** sallyport policy …: what the files of a policy say, without a running server. */
import { Command } from 'commander'

/** Where the files are unless a flag says otherwise; read when a command runs, because it can throw ConfigError. */
export type ReviewFolders = () => { readonly policies: string; readonly schemas: string }

/** And where versions are kept, for commands that change what is in force. */
export type ReleaseFolders = () => ReturnType<ReviewFolders> & { readonly dataDirectory: string }

export function policyCommand(commands: readonly Command[]): Command {
  const policy = new Command('policy').description('know what a policy says before it rules')
  for (const command of commands) policy.addCommand(command)
  return policy
}
