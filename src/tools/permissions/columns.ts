/** Which callers a matrix is about: all that rules can tell apart, or those that were asked for. */

import { byText } from '../../base/by-text.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { type CallerColumn, callerColumns, columnOfRoles } from '../../decide/callers-and-routes.ts'
import type { Policy } from '../../decide/policy.ts'
import { ToolError } from '../load-policy.ts'

/**
 * Without names: anonymous, everyone, each role in the order of roles.yaml, each user that a rule names. Single names
 * select only these callers; names joined with `+` add a caller who holds all of them. Throws ToolError.
 */
export function chooseColumns(policy: Policy, asked: readonly string[]): readonly CallerColumn[] {
  const all = callerColumns(policy)
  const known = [
    ...all.filter(({ name }) => !isUser(name)),
    ...all.filter(({ name }) => isUser(name)).sort((a, b) => byText(a.name, b.name)),
  ]
  const columns = [...new Set(asked)].map((name) => ({
    single: partsOf(name).length === 1,
    column: column(policy, name),
  }))
  const single = columns.filter((one) => one.single).map((one) => one.column)
  const combined = columns.filter((one) => !one.single).map((one) => one.column)
  return [...(single.length > 0 ? single : known), ...combined]
}

/** `a+b+user:<id>`: an id may hold a `+` itself, so it comes last. */
function partsOf(name: string): readonly string[] {
  const user = /(?<=^|\+)user:.*$/s.exec(name)?.[0]
  if (user === undefined) return name.split('+')
  const roles = name.slice(0, -user.length).split('+').slice(0, -1)
  return [...roles, user]
}

function column(policy: Policy, name: string): CallerColumn {
  const parts = partsOf(name)
  const special = parts.length === 1 ? callerColumns(policy).find((one) => one.name === name) : undefined
  if (special) return special
  const user = parts.find(isUser)
  const roles = parts.filter((part) => part !== user)
  for (const role of roles) requireRole(policy, role)
  if (user !== undefined) requireId(user)
  const { subjects } = columnOfRoles(policy, roles)
  return { name: parts.join('+'), subjects: new Set([...subjects, ...(user === undefined ? [] : [user])]) }
}

function requireRole({ roles }: Policy, role: string): void {
  if (roles.has(role)) return
  const known = ['anonymous', 'everyone', ...roles.keys(), 'user:<id>'].join(', ')
  throw new ToolError(
    `\`${role}\` is not a role of roles.yaml; --role takes ${known}, or roles joined with +` +
      didYouMean(role, ['anonymous', 'everyone', ...roles.keys()]),
  )
}

/** Accepts the ids that policy.csv accepts. */
function requireId(user: string): void {
  const id = user.slice('user:'.length)
  if (id !== '' && id === id.trim() && [...id].length <= 128 && !/\p{Cc}/u.test(id)) return
  throw new ToolError('a user id has 1 to 128 characters and no space at its ends: write --role user:<id>')
}

function isUser(name: string): boolean {
  return name.startsWith('user:')
}
