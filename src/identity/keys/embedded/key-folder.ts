/**
 * The folder in which 0.1 kept the embedded keys. It is only read, and only until its keys are in the database:
 * `signing.jwk`, `signing-2.jwk` and so on, the highest number signs, and `<kid>.ends` has a line for each token that
 * outlasts those of sign-in.
 */

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fixOfPath } from '../../../base/files/fix-path.ts'
import { systemReason } from '../../../base/files/system-reason.ts'
import { shellWord } from '../../../base/problems/fix.ts'
import type { FirstKey } from '../../../store/signing-keys.ts'
import { KeyError } from '../key-error.ts'
import { canSign, parseEmbeddedKey } from './embedded-key.ts'
import { keyFolderIn, readPrivately } from './keys-secret.ts'

const NAME = /^signing(?:-(\d{1,9}))?\.jwk$/

/** The command that removes the folder's keys of 0.1. */
export function removalOfKeys(dataDirectory: string): string {
  const folder = shellWord(keyFolderIn(dataDirectory))
  return `rm -f ${folder}/signing*.jwk ${folder}/*.ends`
}

/**
 * The keys by number, each text a JWK; none without such a folder. Throws KeyError if others can read or replace a key,
 * or if one is broken.
 */
export async function readKeyFolder(dataDirectory: string): Promise<readonly (FirstKey & { createdAt: number })[]> {
  const folder = keyFolderIn(dataDirectory)
  const keys = await Promise.all((await keyFilesIn(folder)).map((name) => readKey(folder, name)))
  const sorted = keys.toSorted((a, b) => a.number - b.number)
  const last = sorted.at(-1)
  if (last && !last.signs) throw unusableKey(join(folder, last.name))
  return sorted.map(({ number, text, createdAt, tokensEndAt }) => ({ number, text, createdAt, tokensEndAt }))
}

async function keyFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error) => {
    if (error.code === 'ENOENT') return []
    const { code } = error
    throw new KeyError(`the signing keys in ${folder} can't be read (${systemReason(code)})`, fixOfPath(folder, code))
  })
  return names.filter((name) => NAME.test(name))
}

async function readKey(folder: string, name: string) {
  const file = join(folder, name)
  const text = (await readPrivately(file)) ?? ''
  const key = await parseEmbeddedKey(text)
  if (!key) throw unusableKey(file)
  const { created, ...jwk } = JSON.parse(text)
  return {
    name,
    number: Number(NAME.exec(name)?.[1] ?? 1),
    text: JSON.stringify(jwk),
    createdAt: Math.round(Date.parse(created) || (await stat(file)).birthtimeMs),
    tokensEndAt: await lastNotedEnd(join(folder, `${key.kid}.ends`)),
    signs: canSign(key),
  }
}

function unusableKey(file: string): KeyError {
  return new KeyError(
    `the signing key ${file} is not an Ed25519 key; restore it, or delete it to start without that key`,
    `rm ${shellWord(file)}`,
  )
}

/** One line for each end, in milliseconds since the epoch. */
async function lastNotedEnd(file: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return ''
    throw new KeyError(`${file} can't be read (${systemReason(error.code)})`, fixOfPath(file, error.code))
  })
  const lines = text.split('\n').filter((line) => line !== '')
  if (lines.every((line) => /^\d{1,15}$/.test(line))) return Math.max(0, ...lines.map(Number))
  throw new KeyError(
    `${file} doesn't have the ends of tokens, one number a line: restore it, or delete it to refuse tokens of that key ` +
      'that last longer than those of sign-in',
    `rm ${shellWord(file)}`,
  )
}
