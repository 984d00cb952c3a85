/** Whether the commands of a page exist, without running them: the pages whose commands take long are run in soak. */
import { sallyport } from './command.ts'

/** What the program doesn't know of a line like `npm run -s sallyport -- matrix mutate --only drop-deny`. */
export async function unknownIn(line: string): Promise<readonly string[]> {
  const words = line
    .replace(/^npm run -s sallyport -- /, '')
    .replace(/ > \S+$/, '')
    .split(' ')
  const flags = words.filter((word) => word.startsWith('--'))
  const { code, stdout } = await sallyport([...words.slice(0, 2), '--help'])
  const usage = `Usage: sallyport ${words.slice(0, 2).join(' ')} `
  if (code !== 0 || !stdout.startsWith(usage)) return [words.slice(0, 2).join(' ')]
  return flags.filter((flag) => !new RegExp(`^ +(?:-\\w, )?${flag}\\b`, 'm').test(stdout))
}
