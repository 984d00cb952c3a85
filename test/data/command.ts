/** `sallyport data …` in a folder with policies and schemas. */
import { type Ended, sallyport } from '../command.ts'

export type { Ended }

interface Place {
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
}

export function data(args: readonly string[], { folder, env = {} }: Place): Promise<Ended> {
  return sallyport(['data', ...args], { cwd: folder, env })
}
