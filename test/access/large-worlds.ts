/** Databases as large as a report should bear: people and objects of the shipped schemas, and of examples/projects. */
import type { Document } from '../../src/resources/object.ts'
import type { Seeding } from '../../src/store/contract.ts'

export interface WorldSize {
  readonly people: number
  /** All but the people. */
  readonly objects: number
}

type Fill = (seeding: Pick<Seeding, 'insert'>, size: WorldSize) => Promise<void>

/** Orders, notes and accounts, each of somebody; every hundredth person is of support. */
export const fillShop: Fill = async (seeding, { people, objects }) => {
  const fill = fillerOf(seeding)
  await fill('users', people, (i) => ({ ...personOf(i), roles: [i % 100 === 0 ? 'support' : 'member'] }))
  const orders = Math.floor(objects * 0.7)
  const notes = Math.floor(objects * 0.2)
  const status = ['draft', 'placed', 'shipped'] as const
  await fill('orders', orders, (i) => ({
    customerId: `users${i % people}`,
    status: status[i % 3] ?? 'draft',
    currency: 'EUR',
    items: [],
  }))
  await fill('notes', notes, (i) => ({ ownerId: `users${i % people}`, title: `Note ${i}` }))
  const accounts = objects - orders - notes
  await fill('accounts', accounts, (i) => ({ ownerId: `users${i % people}`, number: `A${i}`, balance: i }))
}

/** A hundred people a tenant, five people a project; some nine tenths are tasks and comments. */
export const fillProjects: Fill = async (seeding, { people, objects }) => {
  const fill = fillerOf(seeding)
  const tenants = Math.ceil(people / 100)
  const projects = Math.ceil(people / 5)
  const tenantOf = (i: number) => ({ tenantId: `tenants${i % tenants}` })
  /** Whoever has the number `i` modulo the tenants is of the tenant of that number. */
  const memberOf = (tenant: number, i: number) => `users${((tenant % tenants) + tenants * i) % people}`
  await fill('tenants', tenants, (i) => ({ name: `Tenant ${i}` }))
  await fill('users', people, (i) => ({
    ...personOf(i),
    roles: [i % 1000 === 0 ? 'admin' : 'member'],
    tenant: `tenants${i % tenants}`,
  }))
  await fill('projects', projects, (i) => ({ ...tenantOf(i), leadId: memberOf(i, i), name: `Project ${i}` }))
  const memberships = projects * 10
  await fill('memberships', memberships, (i) => {
    const project = i % projects
    const role = i % 2 === 0 ? 'editor' : 'viewer'
    return { ...tenantOf(project), projectId: `projects${project}`, userId: memberOf(project, i), role }
  })
  const left = objects - tenants - projects - memberships
  const tasks = Math.floor(left * 0.5)
  const status = ['open', 'done', 'archived'] as const
  await fill('tasks', tasks, (i) => {
    const project = i % projects
    const assigned = i % 2 === 0 ? { assigneeId: memberOf(project, i) } : {}
    return {
      ...tenantOf(project),
      projectId: `projects${project}`,
      title: `Task ${i}`,
      status: status[i % 3] ?? 'open',
      priority: (i % 5) + 1,
      ...assigned,
    }
  })
  const comments = Math.floor(left * 0.4)
  await fill('comments', comments, (i) => {
    const task = i % tasks
    return { ...tenantOf(task % projects), taskId: `tasks${task}`, authorId: memberOf(task % projects, i), text: 'Yes' }
  })
  await fill('folders', left - tasks - comments, (i) => {
    const parent = i < tenants * 10 ? {} : { parentId: `folders${i - tenants * 10}` }
    return { ...tenantOf(i), ownerId: memberOf(i, i), name: `Folder ${i}`, ...parent }
  })
}

function personOf(i: number): Document {
  return { email: `users${i}@example.com`, displayName: `User ${i}` }
}

const AT_ONCE = 500

/** The ids are the name of the resource and a number. */
function fillerOf(seeding: Pick<Seeding, 'insert'>) {
  return async (resource: string, most: number, documentOf: (i: number) => Document): Promise<void> => {
    for (let from = 0; from < most; from += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, most - from) }, (_, n) => ({
        id: `${resource}${from + n}`,
        document: documentOf(from + n),
      }))
      await seeding.insert(resource, some)
    }
  }
}
