/** The product's answers to the questions that the oracle answers, for comparing them. */

import type { Caller } from '../../src/decide/caller.ts'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { type FactNeed, type FactsAtHand, type Steps, withFacts } from '../../src/decide/facts.ts'
import type { CallerGrants } from '../../src/decide/grants/caller-grants.ts'
import type { GrantTable } from '../../src/decide/grants/grant-table.ts'
import type { RoleLevel } from '../../src/decide/grants/role-level.ts'
import { filledFields } from '../../src/decide/relations/ownership.ts'
import { askingAs, type CallerAndTime } from '../../src/decide/relations/relation-kind.ts'
import { NO_CONDITIONS } from '../../src/decide/request-conditions/conditions-now.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import type { StoredObject } from '../../src/resources/object.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { asOracle, RESOURCES } from './fixture.ts'
import type { OracleCaller, OraclePolicy, Plain, World } from './world.ts'

export function snapshotOf(files: PolicyFiles): Snapshot {
  return casbinPolicy(packPolicy(parsePolicy(files, RESOURCES)), RESOURCES)
}

export function worldOf(policy: OraclePolicy, resource: Resource, caller: OracleCaller): World {
  return { policy, resource: asOracle(resource), caller }
}

function callerOf({ id, roles, claims }: OracleCaller): Caller | undefined {
  return id === undefined ? undefined : { id, roles, claims }
}

/** No relation of these tests looks at the time. */
export function askingOf({ id, claims, record }: OracleCaller): CallerAndTime {
  return askingAs(id === undefined ? {} : { ...(record ?? claims), id }, 0)
}

const NOTHING_STORED: FactsAtHand = { user: refuse, object: refuse, lookup: refuse }

/** Runs a decision that asks for no more facts: no relation here looks at other objects. */
export function settled<T>(steps: Steps<T, FactNeed>): T {
  return withFacts(steps, NOTHING_STORED)
}

function refuse(): never {
  throw new Error('nothing is stored here')
}

export async function tableOf(
  snapshot: Snapshot,
  caller: OracleCaller,
  resource: Resource,
  action: string,
): Promise<GrantTable> {
  return snapshot.table(snapshot.subjectOf(callerOf(caller)), resource.name, action)
}

/** What a table tells the caller before an object is known. */
export function roleLevelOf(table: GrantTable, caller: OracleCaller): RoleLevel {
  const { valuesOf } = askingOf(caller)
  return table.roleLevel((name) => valuesOf(name).length > 0)
}

/** What a decision about one action of one caller is made from. */
export async function grantsOf(
  snapshot: Snapshot,
  caller: OracleCaller,
  resource: Resource,
  action: string,
): Promise<CallerGrants> {
  const table = await tableOf(snapshot, caller, resource, action)
  const ownership = snapshot.ownershipOf(resource.name)
  return {
    kind: 'grants',
    resource,
    ownership,
    asking: askingOf(caller),
    attributes: table.attributes,
    filled: action === 'create' ? filledFields(resource, ownership) : [],
    conditions: NO_CONDITIONS,
    table,
    roleLevel: roleLevelOf(table, caller),
    readTable: await tableOf(snapshot, caller, resource, 'read'),
    view: undefined,
    roleGuarantees: undefined,
    objectBytes: 1_000_000,
    sets: new Set(),
    reads: { lookups: [] },
  }
}

export function storedOf({ id, createdAt, updatedAt, ...document }: Plain): StoredObject {
  return { id: String(id), version: 3, createdAt: String(createdAt), updatedAt: String(updatedAt), document }
}
