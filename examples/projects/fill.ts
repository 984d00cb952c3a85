/** Fills the example over HTTP, as its people would: two tenants, a project with a team, a task, a comment, folders. */

/** The password of all demo callers. */
const PASSWORD = 'sallyport-demo'

/** What the fill made: the ids of objects by name. */
export type Made = Readonly<Record<'acme' | 'globex' | 'project' | 'task' | 'comment' | 'root' | 'leaf', string>>

export async function fillExample(url: string): Promise<Made> {
  const ada = await signIn(url, 'ada')
  const acme = await make(url, ada, '/tenants', { name: 'Acme' })
  const globex = await make(url, ada, '/tenants', { name: 'Globex' })
  for (const [id, tenant] of [...['alice', 'bob', 'sam'].map((name) => [name, acme]), ['audrey', globex]] as const) {
    await ask(url, ada, 'PATCH', `/users/${id}`, { tenant, roles: ['member'] })
  }
  const alice = await signIn(url, 'alice')
  const project = await make(url, alice, '/projects', { name: 'Moon' })
  await make(url, alice, '/memberships', { projectId: project, userId: 'bob', role: 'editor' })
  await make(url, alice, '/memberships', { projectId: project, userId: 'sam' })
  const task = await make(url, alice, '/tasks', { projectId: project, title: 'Build a rocket', priority: 5 })
  const comment = await make(url, await signIn(url, 'bob'), '/comments', { taskId: task, text: 'Which colour?' })
  const root = await make(url, alice, '/folders', { name: 'Plans' })
  const leaf = await make(url, await signIn(url, 'bob'), '/folders', { name: 'Engine', parentId: root })
  return { acme, globex, project, task, comment, root, leaf }
}

/** The fill begins with the tenants. */
export async function isFilled(url: string): Promise<boolean> {
  const { items } = (await ask(url, await signIn(url, 'ada'), 'GET', '/tenants')) as { items: readonly unknown[] }
  return items.length > 0
}

/** A token of a sign-in at this moment. */
export async function signIn(url: string, name: string): Promise<string> {
  const body = { email: `${name}@example.com`, password: PASSWORD }
  const { access_token: token } = (await ask(url, undefined, 'POST', '/api/tokens', body)) as { access_token: string }
  return token
}

/** The id of the new object. */
async function make(url: string, token: string, path: string, body: unknown): Promise<string> {
  return ((await ask(url, token, 'POST', path, body)) as { id: string }).id
}

async function ask(
  url: string,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const headers = { 'content-type': type, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) ?? null })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? undefined : answer.json()
}
