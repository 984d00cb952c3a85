// A process for test/release/lock.test.ts: holds the lock of a directory, or counts under it, or without it.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { ToolError } from '../../src/tools/load-policy.ts'
import { withLock } from '../../src/tools/release/folder/lock.ts'

const [way = '', directory = '', times = '0'] = process.argv.slice(2)
const file = join(directory, 'count')

async function addOne(): Promise<void> {
  const count = Number(await readFile(file, 'utf8'))
  await setImmediate()
  await writeFile(file, String(count + 1))
}

async function addLocked(): Promise<void> {
  for (;;) {
    try {
      return await withLock(directory, addOne)
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
      await setImmediate()
    }
  }
}

if (way === 'hold') {
  await withLock(directory, async () => {
    process.stdout.write('ready\n')
    await new Promise((resolve) => process.stdin.on('end', resolve).resume())
  })
} else {
  process.stdout.write('ready\n')
  await new Promise((resolve) => process.stdin.once('data', resolve))
  process.stdin.destroy()
  for (let i = 0; i < Number(times); i++) await (way === 'count' ? addLocked() : addOne())
}
