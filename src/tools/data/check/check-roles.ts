/** Which users records and API keys break the guarantees about people: writes are refused, so they were there before. */
import { hadOf, roleGuaranteesOf } from '../../../decide/role-guarantees.ts'
import { namesText } from '../../../present/quote.ts'
import { textsAmong } from '../../../resources/object.ts'
import type { Json, Resource } from '../../../resources/resource.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'
import type { Reason } from './findings.ts'

/** As findings name them: no resource has this name. */
const API_KEYS = 'API keys'

export type RolesCheck = ReturnType<typeof rolesCheck>

export function rolesCheck(policy: Parameters<typeof roleGuaranteesOf>[0]) {
  const { apart, atMost } = roleGuaranteesOf(policy)
  /** `roles`: of a users record, or of a key. */
  const reasonsOf = (roles: Json | undefined): readonly Reason[] =>
    apart.flatMap((one) => {
      const had = hadOf(one, textsAmong(roles))
      const message = `gives the roles ${namesText(had, ' and ')} together, which \`${one.name}\` keeps apart`
      return had.size > 1 ? [{ code: 'roles-apart', pointer: '/roles', message }] : []
    })
  /** Keys that work, by what they name (the users record of their subject may give less now), and roles that too many have. */
  async function* beside(reader: ObjectReader, users: Resource | undefined, now: number) {
    const keys = apart.length === 0 ? [] : await reader.apiKeys()
    for (const { id, roles } of keys.filter((key) => key.revokedAt === null && key.expiresAt > now)) {
      for (const reason of reasonsOf(roles)) yield { resource: API_KEYS, reason, ids: [id], count: 1 }
    }
    for (const { name, role, people, givers } of atMost) {
      const count = await reader.peopleWith(givers, users, now)
      const message = `people have the role \`${role}\`, and \`${name}\` allows ${people}`
      const reason: Reason = { code: 'too-many-with-role', pointer: '/roles', message }
      if (count > people) yield { resource: users?.name ?? API_KEYS, reason, ids: [], count }
    }
  }
  return { reasonsOf, beside }
}
