/** The body of POST /api/tokens: an e-mail address with a password, or a refresh token. */
import { isObject } from '../../base/is-object.ts'
import type { Resource } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { checkerOf } from '../validate/find-faults.ts'
import { closedObjectOf } from './make.ts'

/**
 * In characters. NIST SP 800-63B-4 section 3.1.1.2 asks for 15 if the password is the only factor, and for at least 8
 * otherwise.
 */
export const PASSWORD_LENGTH = { min: 12, max: 1024 } as const

const BY_PASSWORD: JsonObject = {
  title: 'ByPassword',
  ...closedObjectOf(
    {
      email: { description: 'Exactly as in the users record.', type: 'string', minLength: 1, maxLength: 254 },
      password: { type: 'string', minLength: 1, maxLength: PASSWORD_LENGTH.max },
    },
    {
      // A new password is measured again after normalization (src/identity/sign-in/password.ts).
      newPassword: {
        description: 'Replaces the password; all other sessions of the user end.',
        type: 'string',
        minLength: PASSWORD_LENGTH.min,
        maxLength: PASSWORD_LENGTH.max,
      },
    },
  ),
}

const BY_REFRESH_TOKEN: JsonObject = {
  title: 'ByRefreshToken',
  ...closedObjectOf({
    refresh_token: {
      description: 'The newest refresh token of the session.',
      type: 'string',
      minLength: 1,
      maxLength: 256,
    },
  }),
}

export const TOKEN_REQUEST: JsonObject = {
  description: 'An e-mail address with a password, or a refresh token.',
  oneOf: [BY_PASSWORD, BY_REFRESH_TOKEN],
}

const byPassword = checkerOf(BY_PASSWORD)
const byRefreshToken = checkerOf(BY_REFRESH_TOKEN)

/** Validated as one of the two forms, so that the faults are those of the intended form. */
export const validateTokenRequest: Resource['validate'] = (body) => {
  const isRefresh = isObject(body) && Object.hasOwn(body, 'refresh_token')
  return isRefresh ? byRefreshToken(body) : byPassword(body)
}
