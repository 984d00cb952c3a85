/** What a program does with the tasks of examples/projects: it follows them, and looks at what they were. */
import { type Client, connect, type Schemas } from '../generated/projects.ts'

type Task = Pick<Schemas['TaskListed'], 'title' | 'status'>

/** Keeps `tasks` as the list of open tasks is, until `signal` says that it's enough. */
export async function followTasks(api: Client, tasks: Map<string, Task>, signal: AbortSignal): Promise<void> {
  for await (const { event, data } of api.tasks.events({ status: 'open' }, { signal })) {
    if (event === 'gone') tasks.delete(data.id)
    else if (event !== 'reset') tasks.set(data.id, data)
    else {
      tasks.clear()
      for await (const task of api.tasks.list({ status: 'open' })) tasks.set(task.id ?? '', task)
    }
  }
}

/** Who wrote a task, the last one first, and its title at a time. */
export async function pastOf(api: Client, id: string, time: string): Promise<readonly (string | undefined)[]> {
  const writers: (string | undefined)[] = []
  for await (const { by } of api.tasks.history(id).list()) writers.push(by?.subject)
  const { object } = await api.tasks.history(id).at(time)
  return [...writers, object.title]
}

/** A client that gets a token when it needs the first one, and another one when the server refuses that. */
export function connectWith(url: string, signIn: () => Promise<string>): Client {
  let token: string | undefined
  return connect({
    url,
    token: async (refused) => {
      if (token === undefined || refused !== undefined) token = await signIn()
      return token
    },
  })
}
