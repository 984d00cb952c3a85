/** Finds entries of callers.yaml whose word could make anybody privileged, and entries of services that may not ask. */
import { inheritedBy } from '../../../decide/callers-and-routes.ts'
import type { CallerEntry } from '../../../decide/grants/trust.ts'
import type { Policy } from '../../../decide/policy.ts'
import { namesText } from '../../../present/quote.ts'
import { type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

export const privilegedWords: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'caller-word-privileged',
      meaning:
        'In `callers.yaml`, a service may give a subject a role with `privileged: true`, or one that inherits such a ' +
        'role, by its word alone: whoever has the key of the service gets decisions as a privileged user',
      mend: 'Name lesser roles, or take the roles from the directory or from a token of the user',
    },
  ],
  find: ({ policy, placeOfKey }) =>
    [...policy.callers.values()].flatMap((entry) =>
      privilegedIn(entry, policy).map(({ type, roles }) => {
        const may = `\`${entry.name}\` may give subjects of the type \`${type}\` the privileged ${namesText(roles)}`
        const message = `${may} by its word, so its key is enough to ask as a privileged user`
        const hint = 'name lesser roles, or write `directory` or `token`'
        return warning(
          placeOfKey('callers.yaml', [entry.name, 'subjects', type]),
          'caller-word-privileged',
          message,
          hint,
        )
      }),
    ),
}

interface PrivilegedWord {
  readonly type: string
  readonly roles: readonly string[]
}

function privilegedIn({ subjects }: CallerEntry, policy: Policy): readonly PrivilegedWord[] {
  return [...subjects].flatMap(([type, source]) => {
    if (source.kind !== 'word') return []
    const roles = [...source.roles].filter((role) =>
      [...inheritedBy(policy, role)].some((one) => policy.roles.get(one)?.privileged),
    )
    return roles.length > 0 ? [{ type, roles }] : []
  })
}
