/** Without a guard against stale rights, writes commit under rights that are gone, and the checker finds them. */
import { expect } from 'chai'
import { isByOlderPolicy } from './ask.ts'
import { judge } from './checker.ts'
import { until } from './cluster.ts'
import type { Guard } from './leave-out.ts'
import { collect, verdictAfter } from './withstand.ts'

const HOOK = new URL('./leave-out.ts', import.meta.url).href
/** So many chances has a write at least to be decided before a removal and committed after it. */
const REMOVALS = 30
/** In so long, such a write comes, and an instance is asked at a moment when it doesn't have the version. */
const FOUND_WITHIN_MS = 240_000

const FOUND: Readonly<Record<Guard, RegExp>> = {
  membership: /^write \d+: no membership$/,
  role: /: no role$/,
  policy: /^answered by version/,
}

describe('instances without a guard against stale rights', function () {
  this.timeout(600_000)

  for (const [guard, finding] of Object.entries(FOUND)) {
    it(`are found out: without the one of a ${guard}`, async () => {
      const environment = { NODE_OPTIONS: `--import=${HOOK}`, LEAVE_OUT: guard, NODE_DISABLE_COMPILE_CACHE: '1' }
      const { stale, ...others } = await verdictAfter({
        environment,
        happen: async (cluster, history) => {
          const lagged = () => guard !== 'policy' || history.operations.some(isByOlderPolicy)
          await until(() => history.removals.length >= REMOVALS && lagged(), FOUND_WITHIN_MS)
          const isFound = async () => judge(await collect(cluster, history)).stale.some((one) => finding.test(one))
          await until(isFound, FOUND_WITHIN_MS)
        },
      })
      expect(stale.filter((one) => finding.test(one)).length).to.be.greaterThan(0)
      expect(others).to.deep.include({ lost: [], doubled: [], unrecorded: [], overAdmitted: [] })
    })
  }
})
