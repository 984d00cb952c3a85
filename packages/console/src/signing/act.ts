/** What somebody does, and how it ended, as a sentence; some of it is signed with their key. */
import { useState } from 'preact/hooks'
import { ask, Refused, type Told } from '../api/ask.ts'
import { sentenceOf } from '../parts/answered.tsx'
import { findKey, ownKey, signatureOf } from './key.ts'
import { whyNotToSign } from './to-sign.ts'

export type Acting =
  | { readonly kind: 'idle' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'done' | 'failed'; readonly sentence: string }

/** `action`: what the acts need. Each act gives the sentence of its end. */
export function useActing(action: string): readonly [Acting, (act: () => Promise<string>) => void] {
  const [acting, setActing] = useState<Acting>({ kind: 'idle' })
  const run = (act: () => Promise<string>) => {
    setActing({ kind: 'busy' })
    act().then(
      (sentence) => setActing({ kind: 'done', sentence }),
      (error: unknown) => setActing({ kind: 'failed', sentence: sentenceOfFailure(error, action) }),
    )
  }
  return [acting, run]
}

function sentenceOfFailure(error: unknown, action: string): string {
  return error instanceof Refused ? sentenceOf(error.problem, action) : (error as Error).message
}

/** Asks what must be signed, signs it, and asks again with the signature (docs/policy-api.md). */
export async function askSigned<T>(path: string, body: Readonly<Record<string, unknown>>): Promise<Told<T>> {
  if (ownKey.get() === undefined) await findKey()
  const key = ownKey.get()
  if (!key) throw new Error('You have no key in this browser: make one below "Your key", on the page Changes.')
  const first = await ask<Told<{ readonly toSign?: string } & T>>(path, { ...body, key: `to-sign:${key.kid}` })
  const { toSign } = first.result
  // Nothing was to be done, or the files have errors.
  if (toSign === undefined) return first
  const why = await whyNotToSign(toSign, { path, body, kid: key.kid })
  if (why !== undefined) throw new Error(`Nothing is signed: the server sent ${why}.`)
  return ask(path, { ...body, key: `signed:${toSign}.${await signatureOf(toSign, key)}` })
}
