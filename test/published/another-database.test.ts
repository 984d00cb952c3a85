/**
 * A signed version is valid in its database alone. A tester copies rows from the database of staging into that of
 * production, which trusts the same key: new versions, versions from before databases had ids, and the id itself.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { readPolicySigner } from '../../src/identity/keys/policy-keys.ts'
import { type PublishedVersion, signVersion } from '../../src/policy/published/signed-version.ts'
import type { StoredVersion } from '../../src/store/policy-versions.ts'
import { type Ended, policy } from '../release/command.ts'
import { failure } from '../store/fixture.ts'
import { createSchema } from '../store/postgres-schemas.ts'
import { until } from '../until.ts'
import { PublishedPolicies, sequenceOf } from './fixture.ts'

interface Place {
  readonly published: PublishedPolicies
  sql(text: string): Promise<void>
  remove(): Promise<void>
}

type MakePlace = (keysOf?: PublishedPolicies) => Promise<Place>

versionsOfAnotherDatabase('SQLite', async (keysOf) => {
  const published = await PublishedPolicies.make(undefined, keysOf)
  return { published, sql: async (text) => published.tamper(text), remove: () => published.remove() }
})

versionsOfAnotherDatabase('PostgreSQL', async (keysOf) => {
  const schema = await createSchema()
  const published = await PublishedPolicies.make(schema.url, keysOf)
  const direct = await schema.raw()
  return {
    published,
    sql: async (text) => void (await direct.query(text)),
    remove: async () => {
      await published.remove()
      await schema.remove()
    },
  }
})

function versionsOfAnotherDatabase(engine: string, make: MakePlace): void {
  describe(`a version of another database, on ${engine}`, () => {
    let staging: Place
    let production: Place
    beforeEach(async () => {
      production = await make()
      staging = await make(production.published)
      await production.published.publish()
      await staging.published.publish('# staging 1\n')
      await staging.published.publish('# staging 2\n')
    })
    afterEach(async () => {
      await staging.remove()
      await production.remove()
    })

    const idOf = ({ published }: Place) =>
      published.within(published.versions(), async (versions) => (await versions.home()).id)

    const versionsOf = ({ published }: Place): Promise<readonly StoredVersion[]> =>
      published.within(published.versions(), (versions) => versions.all())

    /** Copies a version with its files, around the commands. */
    const copy = async (number: number) => {
      const { published } = staging
      const [signed, files] = await published.within(published.versions(), async (versions) => {
        const text = (await versions.get(number)) ?? ''
        const digests = Object.values(payloadOf(text).files)
        const texts = await Promise.all(digests.map(async (one) => [one, (await versions.file(one)) ?? ''] as const))
        return [text, new Map(texts)]
      })
      await production.published.within(production.published.versions(), async (versions) => {
        expect(await versions.publish({ number, signed, files })).to.equal(true)
      })
    }

    /** The database as sallyport 0.2 left it: without an id, also in its versions. */
    const takeBack = async ({ published, sql }: Place) => {
      const signer = await readPolicySigner(published.privateKey())
      for (const { number, signed } of await versionsOf({ published } as Place)) {
        const former = await signVersion({ ...payloadOf(signed), database: undefined }, signer)
        await sql(`update policy_versions set signed = '${former}' where number = ${number}`)
      }
      for (const table of ['database', 'proposals', 'signatures', 'grants']) await sql(`drop table policy_${table}`)
    }

    const start = (env: Record<string, string> = {}) => production.published.start(env)
    const refusal = async (env?: Record<string, string>) => String(await failure(start(env)))
    const run = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
      policy(args, {
        ...production.published.environment(),
        POLICY_SIGNING_KEY: production.published.privateKey(),
        DATA_DIR: join(production.published.root, 'publisher'),
        ...env,
      })

    it('is refused by running and new instances, and by the commands', async () => {
      const server = await start()
      await copy(2)
      await until(() => server.app.policy.faults.length > 0)
      expect(String(server.app.policy.faults[0])).to.contain(
        `was published in the database ${await idOf(staging)}, and this one is ${await idOf(production)}`,
      )
      expect(await sequenceOf(server)).to.equal(1)
      expect(await refusal()).to.contain('version-database')
      const { code, stderr } = await run(['block', 'user:eve'])
      expect([code, stderr]).to.deep.equal([2, stderr])
      expect(stderr).to.contain('version 2 was published in the database').and.to.contain('--over 2')
      expect((await run(['diff', 'database:1', 'database:2'])).stderr).to.contain('was published in the database')
      expect((await run(['history'])).stdout).to.match(/^\* {4}1 /)
      // What the publisher signs for this database is taken: the checks above can fail.
      await production.sql('delete from policy_versions where number = 2')
      await production.published.publish('# second\n')
      await production.published.publish('# third\n')
      await until(async () => (await sequenceOf(server)) === 3)
    })

    it('is refused where it has no id either, because it was published before databases had ids', async () => {
      await takeBack(staging)
      await takeBack(production)
      // The upgrade: this is when production gets its id.
      expect(await sequenceOf(await start())).to.equal(1)
      await copy(2)
      expect(await refusal()).to.contain('names no database, and was not in this one when its id was made')
      await production.sql('delete from policy_versions where number = 2')
      // In the place of a version that was there.
      const [first] = await versionsOf(staging)
      await production.sql(`update policy_versions set signed = '${first?.signed}' where number = 1`)
      expect(await refusal()).to.contain('version-database')
      const [other] = await versionsOf(production)
      expect(other?.signed).to.equal(first?.signed)
    })

    it('is taken where it stood before databases had ids, and can be gone back to', async () => {
      await production.published.publish('# second\n')
      await takeBack(production)
      const server = await start()
      expect(await sequenceOf(server)).to.equal(2)
      expect((await run(['diff', 'database:1', 'database:2'])).stdout).to.contain('equivalent')
      expect((await run(['rollback', '--yes'])).stdout).to.contain('Version 3, revision ')
      await until(async () => (await sequenceOf(server)) === 3)
      expect((await versionsOf(production)).map(({ signed }) => payloadOf(signed).database)).to.deep.equal([
        undefined,
        undefined,
        await idOf(production),
      ])
    })

    it('is refused although its id was copied too: by instances that ran, and by those that are told the id', async () => {
      const id = await idOf(production)
      const kept = { DATA_DIR: join(production.published.root, 'instance') }
      const server = await start(kept)
      await copy(2)
      await production.sql(`update policy_database set id = '${await idOf(staging)}'`)
      await until(() => server.app.policy.faults.length > 0)
      expect(await sequenceOf(server)).to.equal(1)
      await server.stop()
      expect(await refusal(kept)).to.contain(`this instance followed ${id}`)
      const told = { POLICY_DATABASE: id }
      expect(await refusal(told)).to.contain(`POLICY_DATABASE is ${id}, but the id of the database is`)
      const blocked = await run(['block', 'user:eve'], told)
      expect([blocked.code, blocked.stderr]).to.deep.equal([2, blocked.stderr])
      expect(blocked.stderr).to.contain(`POLICY_DATABASE is ${id}, but`)
      // An instance that knows nothing has only the database to ask: the refusals above can fail.
      expect(await sequenceOf(await start())).to.equal(2)
      // After somebody changed to another database, the operator says so.
      await rm(join(kept.DATA_DIR, 'policy-sequence'))
      expect(await sequenceOf(await start(kept))).to.equal(2)
    })

    it('follows the database that is named, and status names it', async () => {
      const id = await idOf(production)
      expect(await sequenceOf(await start({ POLICY_DATABASE: id }))).to.equal(1)
      expect((await run(['status'])).stdout).to.contain(`The id of the database is ${id}.`)
      expect(JSON.parse((await run(['status', '--format', 'json'])).stdout).database).to.equal(id)
      expect((await run(['block', 'user:eve'], { POLICY_DATABASE: id })).code).to.equal(0)
    })

    it('starts anew in a copy of a database for staging, as the page says', async () => {
      for (const table of ['versions', 'files', 'instances', 'database'])
        await staging.sql(`delete from policy_${table}`)
      const before = await idOf(production)
      expect(await idOf(staging)).not.to.equal(before)
      expect(await staging.published.publish()).to.equal(1)
      expect(await sequenceOf(await staging.published.start())).to.equal(1)
    })
  })
}

function payloadOf(signed: string): PublishedVersion {
  return JSON.parse(Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString())
}
