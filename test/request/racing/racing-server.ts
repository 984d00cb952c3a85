// A server for racing-memberships.test.ts, on the folder given: a token is `<subject>.<role>.`, and each write of
// a member waits a moment between its decision and its commit, so that other writes come between. `blind`: a store that doesn't ask again.
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { readConfig } from '../../../src/config/config.ts'
import type { Permit, PermitKind } from '../../../src/decide/permits/permit.ts'
import { startApp } from '../../../src/server/app.ts'
import { SqliteStore } from '../../../src/store/sqlite/store.ts'
import { WORLD } from './world.ts'

const LONGEST_PAUSE_MS = 20

const [folder = '', fault] = process.argv.slice(2)

/** What a store gets that writes whatever has changed since the decision. */
function written<K extends PermitKind>(permit: Permit<K>): Permit<K> {
  return fault === 'blind' ? { ...permit, readSet: { lookups: [] } } : permit
}

async function pause({ resource }: Permit<PermitKind>): Promise<void> {
  if (resource === 'tasks' || resource === 'plans') await sleep(Math.random() * LONGEST_PAUSE_MS)
}

const { create, update, delete: remove } = SqliteStore.prototype
SqliteStore.prototype.create = async function (permit, options) {
  await pause(permit)
  return create.call(this, written(permit), options)
}
SqliteStore.prototype.update = async function (permit, options) {
  await pause(permit)
  return update.call(this, written(permit), options)
}
SqliteStore.prototype.delete = async function (permit, options) {
  await pause(permit)
  return remove.call(this, written(permit), options)
}

const config = readConfig({
  PORT: '0',
  ADMIN_PORT: '0',
  DATA_DIR: `${folder}/data`,
  POLICIES: `${folder}/policies`,
  SCHEMAS: `${folder}/schemas`,
})
const app = await startApp({
  config,
  verifier: {
    verify: (token) => {
      const [id = '', role = ''] = token.split('.')
      return { kind: 'caller', caller: { id, roles: [role], claims: {} } }
    },
  },
  log: pino({ level: 'silent' }),
})
if ((await app.seeding.count('users')) === 0) {
  for (const [resource, objects] of Object.entries(WORLD)) await app.seeding.insert(resource, objects)
}
process.stdout.write(`${app.url}\n`)
