/** Reads what the command line tells about the conditions of a request: --with and --address. */
import { isIP } from 'node:net'
import { didYouMean } from '../../base/did-you-mean.ts'
import type { Policy } from '../../decide/policy.ts'
import { quote } from '../../present/quote.ts'
import { ReviewError } from '../load-policy.ts'
import type { KnownRequest } from './question.ts'

const NONE = 'none'

interface Flags {
  readonly with?: string
  readonly address?: string
}

/** Throws ReviewError. */
export function readKnownRequest({ with: supposed, address }: Flags, { conditions }: Policy): KnownRequest {
  if (address !== undefined && isIP(address) === 0) {
    throw new ReviewError(`${quote(address)} is not an IP address: write it as 192.0.2.7 or 2001:db8::7`)
  }
  if (supposed === undefined) return { address }
  if (address !== undefined) {
    throw new ReviewError('--with already says which conditions hold: give --with or --address, not both')
  }
  return { conditions: { holds: supposedConditions(supposed, [...conditions.keys()]), from: '--with' } }
}

/** Exactly the named conditions hold: `office+fresh`, or `none`. Throws ReviewError. */
function supposedConditions(text: string, declared: readonly string[]): ReadonlyMap<string, boolean> {
  const names = text === NONE && !declared.includes(NONE) ? [] : text.split('+').map((name) => name.trim())
  const unknown = names.find((name) => !declared.includes(name))
  if (unknown === undefined) return new Map(declared.map((name) => [name, names.includes(name)]))
  const fault = `conditions.yaml declares no condition ${quote(unknown)}`
  const known = [...declared, NONE].join(', ')
  throw new ReviewError(`${fault}: --with takes ${known}, or names joined with +${didYouMean(unknown, declared)}`)
}
