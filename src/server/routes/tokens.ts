/**
 * POST /api/tokens and DELETE /api/tokens/current: sign-in and sign-out. The directory decides; this file turns its
 * decision into an answer.
 */

import { Problem } from '../../base/problems/problem.ts'
import type { SessionChange, SignInResult, Tokens } from '../../identity/sign-in/session-tokens.ts'
import type { PasswordSignIn } from '../../identity/sign-in/sign-in.ts'
import type { JsonObject } from '../../resources/schema/schema-file.ts'
import type { HandledRequest, Outcome, RequestEnd, Services } from './handler.ts'

/**
 * Why a sign-in was refused: for the log, not for the client. `userId`: the user that the sign-in named, if this user
 * exists.
 */
export class SignInRefused extends Error {
  readonly userId: string | undefined
  readonly reason: string

  constructor(userId: string | undefined, reason: string) {
    super('signing in was refused')
    this.name = 'SignInRefused'
    this.userId = userId
    this.reason = reason
  }
}

/** Throws Problem invalid-body, sign-in-elsewhere, sign-in-delayed, sign-in-refused or sign-in-busy. */
export async function signIn(
  { signIn: directory }: Services,
  { resource, address, writes: start }: HandledRequest,
  body: JsonObject,
): Promise<Outcome> {
  const errors = resource.validate(body)
  if (errors.length > 0)
    throw new Problem('invalid-body', 'The body does not fit the schema; correct the fields in `errors`.', { errors })
  if (!directory)
    throw new Problem(
      'sign-in-elsewhere',
      'This server does not sign users in; get a token from the issuer that it trusts.',
    )
  const { refresh_token: token } = body
  const writes = start()
  const recordOf = (change: SessionChange) => writes.record(endOf(change))
  const signedIn = await (typeof token === 'string'
    ? directory.withRefreshToken(token, recordOf)
    : directory.withPassword({ ...(body as unknown as PasswordSignIn), address }, recordOf))
  if ('record' in signedIn && signedIn.record !== undefined) writes.committed(signedIn.record)
  return outcomeOf(signedIn)
}

/** Throws Problem session-not-found. */
export async function signOut(
  { signIn: directory }: Services,
  { caller, writes: start }: HandledRequest,
): Promise<Outcome> {
  const writes = start()
  const outcome: Outcome = { status: 204, headers: {}, body: undefined }
  const session = caller?.session
  const record = writes.record({ outcome })
  const ended = session !== undefined && (await directory?.end(session, record))
  if (!ended)
    throw new Problem('session-not-found', 'These credentials have no session here; end them where you got them.')
  writes.committed(record)
  return outcome
}

/** The end of the request, for the record of a change. */
function endOf(change: SessionChange): RequestEnd {
  if (change.kind === 'refused') return { problem: refused(change) }
  return { outcome: { status: 200, headers: {}, body: undefined, objectId: change.userId } }
}

function outcomeOf(signedIn: SignInResult): Outcome {
  switch (signedIn.kind) {
    case 'signed-in':
      // RFC 6749 section 5.1.
      return {
        status: 200,
        headers: { 'Cache-Control': 'no-store' },
        body: document(signedIn.tokens),
        objectId: signedIn.userId,
      }
    case 'refused':
      throw refused(signedIn)
    case 'unfit-password': {
      const errors = [{ pointer: '/newPassword', detail: signedIn.fault, code: 'password' }]
      throw new Problem('invalid-body', 'The new password is not accepted; choose one that `errors` does not refuse.', {
        errors,
      })
    }
    case 'delayed':
      throw delayed(signedIn)
    case 'busy':
      throw new Problem('sign-in-busy', 'Too many users are signing in; try again.', {
        headers: { 'Retry-After': '2' },
      })
  }
}

function refused({ userId, reason }: Extract<SignInResult, { kind: 'refused' }>): Problem {
  return new Problem(
    'sign-in-refused',
    'The e-mail address, the password or the refresh token is wrong or no longer valid; sign in again.',
    {
      cause: new SignInRefused(userId, reason),
      headers: { 'WWW-Authenticate': 'Bearer realm="sallyport"' },
    },
  )
}

function delayed({ userId, retryAfterMs }: Extract<SignInResult, { kind: 'delayed' }>): Problem {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return new Problem('sign-in-delayed', `Too many sign-ins have failed; try again in ${seconds} s.`, {
    cause: new SignInRefused(userId, 'too many failures'),
    headers: { 'Retry-After': String(seconds) },
  })
}

/** RFC 6749 section 5.1. */
function document({ accessToken, refreshToken, expiresInSeconds }: Tokens): JsonObject {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    refresh_token: refreshToken,
  }
}
