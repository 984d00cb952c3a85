/** The files that a decision log consists of: the one that grows, and the full ones beside it. */
import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

/** Those that are there, oldest first. */
export async function filesOfLog(file: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dirname(file)).catch(() => [])
  const numbers = names.flatMap((name) => numberOf(name, basename(file)))
  const full = numbers.toSorted((a, b) => b - a).map((number) => `${file}.${number}`)
  return names.includes(basename(file)) ? [...full, file] : full
}

function numberOf(name: string, base: string): readonly number[] {
  const digits = name.startsWith(`${base}.`) ? name.slice(base.length + 1) : ''
  return /^[1-9]\d*$/.test(digits) ? [Number(digits)] : []
}
