/** The store's contract as tests. Every engine passes it, so nothing above the store can tell which one is there. */
import { soak } from '../runs.ts'
import { describeAttempts, describeSharedAttempts } from './contract-attempts.ts'
import { describeChanges, describeRandomChanges, describeSharedChanges } from './contract-changes.ts'
import { describeConditions, describeRandomConditions } from './contract-conditions.ts'
import { describeCosignatures } from './contract-cosignatures.ts'
import { describeDeliveries } from './contract-deliveries.ts'
import { describeDirectory } from './contract-directory.ts'
import { describeClosed, describeInstances, describeMeta } from './contract-instances.ts'
import { describeLists } from './contract-lists.ts'
import { describeMigrations, describeSharedMigrations } from './contract-migrations.ts'
import { describeObjects } from './contract-objects.ts'
import { describeOutbox } from './contract-outbox.ts'
import { describeQueries, describeRandomQueries } from './contract-queries.ts'
import { describeReadSet } from './contract-read-set.ts'
import { describeReader } from './contract-reader.ts'
import { describeRandomRelated, describeRelated } from './contract-related.ts'
import { describeReplays } from './contract-replays.ts'
import { describeUniqueFields, describeUniqueTogetherAtOpening } from './contract-unique.ts'
import { Clock, type Open, type TestDatabase, type TestEngine } from './engine.ts'
import { RESOURCES } from './fixture.ts'

export function storeContract(engine: TestEngine): void {
  describe(`the store on ${engine.name}`, () => {
    let database: TestDatabase
    let clock: Clock
    const open = () => database.open({ resources: RESOURCES, now: clock.now })
    beforeEach(async () => {
      clock = new Clock()
      database = await engine.create()
    })
    afterEach(() => database.remove())

    describeObjects(open, () => clock)
    describeUniqueFields(open, () => database)
    if (engine.share !== 0) describeRandom(engine)
    describeRandomChanges(() => database, engine)
    // Soak draws more, and has the rest from `npm test`.
    if (soak(true, false)) return
    describeOutbox(open)
    describeChanges(
      () => database,
      () => clock,
    )
    describeCosignatures(open)
    describeDeliveries(open, engine)
    describeReplays(open, () => clock)
    describeAttempts(open, () => clock)
    describeDirectory(
      () => database,
      () => clock,
    )
    describeLists(open)
    describeConditions(open)
    describeRelated(() => database)
    describeReadSet(() => database)
    describeQueries(open)
    describeMeta(open)
    if (engine.migrates !== false) describeMigrations(open)
    describeClosed(open)
    if (engine.keeps === 'shared') describeKept(open, () => database)
    if (engine.keeps === 'shared' && engine.migrates !== false) describeSharedMigrations(open)
  })
}

function describeKept(open: Open, database: () => TestDatabase): void {
  describeInstances(open)
  describeSharedChanges(database)
  describeSharedAttempts(open)
  describeUniqueTogetherAtOpening(database)
  describeReader(database)
}

function describeRandom(engine: TestEngine): void {
  describeRandomConditions(engine)
  describeRandomRelated(engine)
  describeRandomQueries(engine)
}
