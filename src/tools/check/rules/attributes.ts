/** Finds relations that compare an attribute which no caller has: a deny that needs one of them denies nothing. */

import type { Diagnostic } from '../../../base/diagnostic.ts'
import { nearestName } from '../../../base/did-you-mean.ts'
import { type Policy, USERS } from '../../../decide/policy.ts'
import { kindOf } from '../../../decide/relations/all-kinds.ts'
import { type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

export const undeclaredAttributes: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'attribute-undeclared',
      meaning:
        'A relation compares a field with an attribute of the caller (`equals: subject.…`) which the schema of ' +
        '`users` does not declare, and which no entry of `callers.yaml` takes from a token or from a word: the ' +
        'relation never holds for a user with a record, so an allow grants nothing and, worse, a deny denies nothing',
      mend:
        'Correct the name, or add the field to `schemas/users.json`; if only callers without a users record need ' +
        'it, and their tokens have it, suppress the warning and give the reason',
    },
  ],
  find: ({ policy, resources, placeOfKey }) => {
    // Without a directory, tokens alone have attributes, and no file declares their claims.
    const users = resources.byName.get(USERS)
    const isTold = hasToldAttributes(policy)
    return [...policy.ownership].flatMap(([name, { relations }]) =>
      [...relations.values()].flatMap((relation): readonly Diagnostic[] => {
        const { attribute = 'id' } = kindOf(relation).equates?.(relation) ?? {}
        if (!users || attribute === 'id' || users.fields.has(attribute)) return []
        const meant = nearestName(attribute, users.fields.keys())
        if (isTold && meant === undefined) return []
        const message = `\`${USERS}\` declares no \`${attribute}\`, so \`${relation.name}\` of \`${name}\` holds for no user`
        const hint = meant === undefined ? `declare it in the schema of \`${USERS}\`` : `did you mean \`${meant}\`?`
        const place = placeOfKey('ownership.yaml', [name, 'relations', relation.name])
        return [warning(place, 'attribute-undeclared', `${message}, and a deny that needs it denies nothing`, hint)]
      }),
    )
  },
}

/** Whether a service may ask about people whose attributes come from a token, or from its own word. */
function hasToldAttributes({ callers }: Policy): boolean {
  return [...callers.values()].some(({ subjects }) => [...subjects.values()].some(({ kind }) => kind !== 'directory'))
}
