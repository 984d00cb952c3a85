import { expect } from 'chai'
import type { PolicyVersions } from '../../src/store/policy-versions.ts'
import { openPostgresPolicyVersions } from '../../src/store/postgres/instances.ts'
import { policyVersionsContract, type TestPolicyDatabase } from './contract-policy-versions.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

policyVersionsContract('PostgreSQL', create)

interface TestVersions extends TestPolicyDatabase {
  readonly schema: TestSchema
}

async function create(): Promise<TestVersions> {
  const schema = await createSchema()
  const opened: PolicyVersions[] = []
  return {
    schema,
    open: async () => {
      const versions = await openPostgresPolicyVersions(schema.url)
      opened.push(versions)
      return versions
    },
    sql: async (text) => {
      const direct = await schema.raw()
      await direct.query(text)
    },
    remove: async () => {
      for (const versions of opened) await versions.close()
      await schema.remove()
    },
  }
}

describe('published policies on PostgreSQL', () => {
  it('forgets instances that told nothing for a day', async () => {
    const database = await create()
    const versions = await database.open()
    await versions.note('gone', 'x')
    const direct = await database.schema.raw()
    await direct.query(`update policy_instances set at = at - ${24 * 60 * 60 * 1000} - 1000`)
    await versions.note('here', 'x')
    expect((await versions.instances()).map(({ name }) => name)).to.deep.equal(['here'])
    await database.remove()
  })

  it('can be opened by several at once in a new database', async () => {
    const database = await create()
    await Promise.all(Array.from({ length: 4 }, () => database.open()))
    await database.remove()
  })
})
