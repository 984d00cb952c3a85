/** What may be a caller's id, and a role that a credential claims. */

/** Users and roles are told apart by this prefix in policies, so neither may bring it along (casbin-facts). */
const USER_PREFIX = 'user:'

/** 1 to 128 characters, well-formed Unicode (stores can't tell lone surrogates apart), no control characters. */
export function isSubject(value: unknown): value is string {
  if (typeof value !== 'string' || !value.isWellFormed() || value.startsWith(USER_PREFIX)) return false
  const length = [...value].length
  return length >= 1 && length <= 128 && !/\p{Cc}/u.test(value)
}

/** Whether such a role exists is the policy's matter. */
export function isClaimableRole(role: string): boolean {
  return role !== '' && role.isWellFormed() && !role.startsWith(USER_PREFIX)
}
