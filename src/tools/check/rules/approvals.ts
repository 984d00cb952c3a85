/** About approvals.yaml: changes that one person makes alone, and changes that nobody, or only some, can propose. */
import type { ApprovalNeed, Approvals } from '../../../decide/policy.ts'
import { approversFor, canMeet } from '../../../policy/parse/parse-approvals.ts'
import { namesText } from '../../../present/quote.ts'
import { check, type PolicyCheck } from '../check.ts'

const FILE = 'approvals.yaml'

export const APPROVALS: readonly PolicyCheck[] = [
  check({
    code: 'approvals-alone',
    find: ({ policy: { approvals }, placeOfKey }) => {
      if (!approvals || approvals.widens.people > 0) return []
      const message = 'nobody but the author approves a change that widens the policy, or that changes this file'
      return [{ at: placeOfKey(FILE, ['needs', 'widens', 'people']), message, hint: 'write `people: 1` or more' }]
    },
  }),
  check({
    code: 'approvals-author',
    find: ({ policy: { approvals }, placeOfKey }) =>
      approvals
        ? needsIn(approvals).flatMap(([path, need]) => {
            const able = approversFor(need, approvals.people)
            const barred = able.filter((name) => !canMeet(need, approvals.people, name))
            if (barred.length === 0) return []
            const count = need.people === 1 ? '1 person' : `${need.people} people`
            const message = `${namesText(barred, ' and ')} can't propose such a change: ${count} must approve beside the author`
            return [{ at: placeOfKey(FILE, path), message, hint: 'lower the number, or add people to the groups' }]
          })
        : [],
  }),
  check({
    code: 'approvals-locked',
    find: ({ policy: { approvals }, placeOfKey }) => {
      if (!approvals) return []
      const needs = [approvals.widens, ...approvals.touches.filter(({ file }) => file?.includes(FILE))]
      const { people } = approvals
      if ([...people.keys()].some((author) => needs.every((need) => canMeet(need, people, author)))) return []
      const message = 'nobody can propose a change of this file: each person is missing for one of its needs'
      return [{ at: placeOfKey(FILE, ['needs']), message, hint: 'add people to the groups of these needs' }]
    },
  }),
]

/** With the path of the place. */
function needsIn({
  widens,
  narrows,
  blocks,
  touches,
}: Approvals): readonly (readonly [readonly string[], ApprovalNeed])[] {
  return [
    [['needs', 'widens', 'people'], widens],
    [['needs', 'narrows', 'people'], narrows],
    [['needs', 'blocks', 'people'], blocks],
    ...touches.map((need, i) => [['needs', 'touches', String(i), 'people'], need] as const),
  ]
}
