/** Refuses a caller who leaves large answers unread, before anything is done for another one. */
import type { UnreadAnswers } from '../http/unread-answers.ts'
import type { Stage } from './stage.ts'
import type { Addressed, Authenticated, RequestState } from './state.ts'

export function refuseUnread(unread: UnreadAnswers): Stage<Addressed & Authenticated> {
  return (ctx, next) => {
    unread.refuse(holderOf(ctx.state))
    return next()
  }
}

/** To whom an answer counts: the caller, or without one the address. */
export function holderOf({ authentication, address }: Pick<RequestState, 'authentication' | 'address'>): string {
  return authentication?.kind === 'caller' ? `subject:${authentication.caller.id}` : `address:${address}`
}
