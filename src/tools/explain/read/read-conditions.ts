/** Reads what the command line tells about the conditions of a request: --with and --address. */
import { isIP } from 'node:net'
import type { Policy } from '../../../decide/policy.ts'
import { quote } from '../../../present/quote.ts'
import { supposedConditions } from '../../asked/supposed-names.ts'
import { ToolError } from '../../load-policy.ts'
import type { KnownRequest } from '../question.ts'

interface Flags {
  readonly with?: string
  readonly address?: string
}

/** Throws ToolError. */
export function readKnownRequest({ with: supposed, address }: Flags, { conditions }: Policy): KnownRequest {
  if (address !== undefined && isIP(address) === 0) {
    throw new ToolError(`${quote(address)} is not an IP address: write it as 192.0.2.7 or 2001:db8::7`)
  }
  if (supposed === undefined) return { address }
  if (address !== undefined) {
    throw new ToolError('--with already says which conditions hold: give --with or --address, not both')
  }
  return { conditions: { holds: supposedConditions(supposed, [...conditions.keys()]), from: '--with' } }
}
