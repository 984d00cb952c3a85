/** `sallyport policy explain` as main.ts runs it: what it prints, and the sentence that it ends with where it can't run. */
import { policyCommandOf } from '../../settings.ts'

export interface Ended {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

export interface Folders {
  readonly policies: string
  readonly schemas: string
  readonly database: string
}

const ROOT = new URL('../../../', import.meta.url)

export const SHIPPED: Folders = {
  policies: new URL('policies', ROOT).pathname,
  schemas: new URL('schemas', ROOT).pathname,
  database: '/nowhere/sallyport.db',
}

/** In this process, one at a time: a process of its own takes far longer than the explanation. */
export async function run({ policies, schemas, database }: Folders, args: readonly string[]): Promise<Ended> {
  const command = policyCommandOf('explain', {
    policies,
    schemas,
    database: { engine: 'sqlite', name: database, location: database },
  }).exitOverride()
  const { write } = process.stdout
  const printed: string[] = []
  process.stdout.write = (text: string | Uint8Array) => printed.push(String(text)) > 0
  try {
    await command.parseAsync(args, { from: 'user' })
    return { failed: false, stdout: printed.join(''), stderr: '' }
  } catch (error) {
    const { name, message } = error as Error
    return { failed: true, stdout: printed.join(''), stderr: `${name}: ${message}` }
  } finally {
    process.stdout.write = write
  }
}
