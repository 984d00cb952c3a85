/** Exchanges the policy of a server under load, and tells what that did to it. */
import { rename, symlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from '../failure.ts'
import { load, type Requests } from './load.ts'
import type { Server } from './server.ts'

export interface Exchange {
  /** The symlink that the server reads its policy by. */
  readonly link: string
  /** The folder that it shall lead to; undefined to exchange nothing. */
  readonly next: string | undefined
  readonly requests: Requests
  /** Of load; the exchange comes after a tenth of it. */
  readonly seconds: number
}

export interface ExchangeFigures {
  /** Until an answer carried the new revision. */
  readonly activeMs: number
  /** Of the event loop, from the exchange until half a second after that. */
  readonly longestStallMs: number
}

const LONGEST_MS = 60_000
/** What the server still does with a policy that rules already: cells, and what the change means. */
const AFTERWARDS_MS = 500

/** The server must have preload/event-loop.ts. Throws BenchFailure. */
export async function exchangePolicy(
  server: Server,
  { link, next, requests, seconds }: Exchange,
): Promise<ExchangeFigures> {
  const loaded = load(server.base, requests, seconds)
  // Its failure is told when it is awaited, below.
  loaded.catch(() => undefined)
  await sleep(seconds * 100)
  const before = await revisionOf(server)
  await longestStall(server)
  const began = performance.now()
  if (next === undefined) await sleep(seconds * 300)
  else await lead(link, next)
  if (next !== undefined) await untilAnother(server, before)
  const activeMs = performance.now() - began
  if (next !== undefined) await sleep(AFTERWARDS_MS)
  const longestStallMs = await longestStall(server)
  await loaded
  return { activeMs, longestStallMs }
}

/** In one step, so that the link always leads somewhere. */
async function lead(link: string, folder: string): Promise<void> {
  await symlink(folder, `${link}.next`)
  await rename(`${link}.next`, link)
}

async function untilAnother(server: Server, before: string | undefined): Promise<void> {
  for (const end = performance.now() + LONGEST_MS; performance.now() < end; await sleep(5)) {
    const revision = await revisionOf(server)
    if (revision !== undefined && revision !== before) return
  }
  throw new BenchFailure('the server did not take the new policy within a minute')
}

/** Undefined when there was no answer: a server that stood still for long closes connections. */
async function revisionOf({ base, target: { path, ids, token } }: Server): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${base}${path}${ids[0]}`, { headers }).catch(() => undefined)
  await answer?.arrayBuffer()
  return answer?.headers.get('policy-revision') ?? undefined
}

/** Since it was asked last. */
function longestStall({ child }: Server): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  child.once('message', ({ longestStallMs }: { readonly longestStallMs: number }) => resolve(longestStallMs))
  child.send('longest stall?')
  return promise
}
