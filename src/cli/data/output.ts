/**
 * Where an export goes: standard output, or a file that gets its name only when it is whole. `<file>.part` is what an
 * export that was stopped leaves.
 */

import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { commandProcess } from '../../base/command-process.ts'
import { nameNew } from '../../base/files/new-files.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { printObjects } from '../../present/print.ts'
import type { ExportSink } from '../../tools/data/export/export-data.ts'
import { ToolError } from '../../tools/load-policy.ts'

/** Lines wait for each other until so many characters are there. */
const CHUNK = 64 * 1024

/** Disposing of it closes a file that isn't finished, and leaves its part. */
export interface Output extends ExportSink, AsyncDisposable {
  /** Everything is written. */
  finish(): Promise<void>
}

/** Throws ToolError if the file exists, or can't be created, and LinkOut. */
export async function openOutput(file: string | undefined): Promise<Output> {
  return file === undefined ? gathered(toStandardOutput, { end: async () => {}, close: async () => {} }) : toFile(file)
}

async function toStandardOutput(text: string): Promise<void> {
  printObjects(text)
  if (commandProcess().stdout.writableNeedDrain) await once(commandProcess().stdout, 'drain')
}

async function toFile(file: string): Promise<Output> {
  const part = `${file}.part`
  await writingPlace(file)
  const taken = await open(file).catch(() => undefined)
  await taken?.close()
  if (taken) throw new ToolError(`the file ${file} exists: name another one with --output`)
  const handle = await open(part, 'wx', 0o600).catch((error) => {
    throw unbegun(file, part, error)
  })
  const explained = async (work: () => Promise<unknown>) => {
    await work().catch((error) => {
      throw error instanceof ToolError ? error : unwritable(part, error)
    })
  }
  return gathered((text) => explained(() => handle.writeFile(text)), {
    end: () =>
      explained(async () => {
        await handle.sync()
        await handle.close()
        await nameNew(part, file).catch((error) => {
          throw error.code === 'EEXIST' ? madeMeanwhile(file, part) : error
        })
        await rm(part, { force: true })
      }),
    close: () => handle.close(),
  })
}

function madeMeanwhile(file: string, part: string): ToolError {
  return new ToolError(`the file ${file} was made meanwhile: rename ${part}, which has the whole export`)
}

function unbegun(file: string, part: string, { code }: NodeJS.ErrnoException): ToolError {
  if (code === 'EEXIST') {
    return new ToolError(`${part} is there, from an export that was stopped: delete it, or name another file`)
  }
  return new ToolError(`the file ${file} can't be written (${systemReason(code)}): write to another place`)
}

function unwritable(part: string, { code }: NodeJS.ErrnoException): ToolError {
  return new ToolError(
    `${part} can't be written (${systemReason(code)}): what is in it is only a part; write to another place`,
  )
}

interface OutputEnding {
  /** Once everything is written. */
  readonly end: () => Promise<void>
  /** In any case; a second time does nothing. */
  readonly close: () => Promise<void>
}

function gathered(write: (text: string) => Promise<void>, { end, close }: OutputEnding): Output {
  let waiting = ''
  const flush = async () => {
    const text = waiting
    waiting = ''
    if (text !== '') await write(text)
  }
  return {
    async write(line) {
      waiting += line
      if (waiting.length >= CHUNK) await flush()
    },
    async finish() {
      await flush()
      await end()
    },
    [Symbol.asyncDispose]: close,
  }
}
