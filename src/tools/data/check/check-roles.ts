/** Which users records and API keys break the guarantees about people: writes are refused, so they were there before. */
import { hadOf, type RolesApart, rolesApartOf } from '../../../decide/role-guarantees.ts'
import { namesText } from '../../../present/quote.ts'
import { textsAmong } from '../../../resources/object.ts'
import type { Json } from '../../../resources/resource.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'

interface RolesReason {
  readonly code: 'roles-apart'
  readonly pointer?: string
  readonly message: string
}

export class RolesCheck {
  readonly #apart: readonly RolesApart[]

  constructor(policy: Parameters<typeof rolesApartOf>[0]) {
    this.#apart = rolesApartOf(policy)
  }

  /** `roles`: of a users record. */
  reasonsOf(roles: Json | undefined): readonly RolesReason[] {
    return this.#reasonsOf(textsAmong(roles)).map((one) => ({ ...one, pointer: '/roles' }))
  }

  /** Keys that work, by what they name: the users record of their subject may give less now. */
  async reasonsOfKeys(
    reader: ObjectReader,
    now: number,
  ): Promise<readonly { readonly id: string; readonly reason: RolesReason }[]> {
    if (this.#apart.length === 0) return []
    const working = (await reader.apiKeys()).filter((key) => key.revokedAt === null && key.expiresAt > now)
    return working.flatMap(({ id, roles }) => this.#reasonsOf(roles).map((reason) => ({ id, reason })))
  }

  #reasonsOf(roles: readonly string[]): readonly RolesReason[] {
    return this.#apart.flatMap((one) => {
      const had = hadOf(one, roles)
      const message = `gives the roles ${namesText(had, ' and ')} together, which \`${one.name}\` keeps apart`
      return had.size > 1 ? [{ code: 'roles-apart' as const, message }] : []
    })
  }
}
