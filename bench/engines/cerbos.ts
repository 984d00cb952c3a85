/** Cerbos, asked over HTTP by a kept connection, one question after the other. Its program is the peers'. */
import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { startCerbos } from '../machine/cerbos.ts'
import { removeScratch, scratchFolder } from '../machine/scratch.ts'
import type { Engine, EngineRule, Question } from './questions.ts'

interface Checked {
  readonly results?: readonly { readonly actions: Readonly<Record<string, string>> }[]
}

export async function setUpCerbos(rules: readonly EngineRule[]): Promise<Engine> {
  const folder = scratchFolder()
  await writePolicies(join(folder, 'policies'), rules)
  const cerbos = await startCerbos({ folder, batch: 1 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const url = new URL('/api/check/resources', cerbos.base)
  return {
    decide: async (question) => {
      const answer = await post(agent, url, JSON.stringify(checkOf(question)))
      return answer.results?.[0]?.actions[question.action] === 'EFFECT_ALLOW'
    },
    close: async () => {
      agent.destroy()
      await cerbos.stop()
      removeScratch(folder)
    },
  }
}

/** A file a resource. */
async function writePolicies(folder: string, rules: readonly EngineRule[]): Promise<void> {
  await mkdir(folder)
  for (const [resource, own] of Map.groupBy(rules, (rule) => rule.resource)) {
    const resourcePolicy = { version: 'default', resource, rules: own.map(cerbosRule) }
    const policy = { apiVersion: 'api.cerbos.dev/v1', resourcePolicy }
    await writeFile(join(folder, `${resource}.json`), JSON.stringify(policy))
  }
}

function cerbosRule({ role, action, own }: EngineRule): object {
  const condition = { match: { expr: 'R.attr.owner == P.id' } }
  return { actions: [action], effect: 'EFFECT_ALLOW', roles: [role], ...(own && { condition }) }
}

function checkOf({ role, sub, resource, action, owner }: Question): object {
  return {
    requestId: '1',
    principal: { id: sub, roles: [role] },
    resources: [{ resource: { kind: resource, id: '5', attr: { owner } }, actions: [action] }],
  }
}

function post(agent: Agent, url: URL, body: string): Promise<Checked> {
  const { promise, resolve, reject } = Promise.withResolvers<Checked>()
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const asked = request(url, { agent, method: 'POST', headers }, (answer) => {
    json(answer).then((told) => resolve(told as Checked), reject)
  })
  asked.once('error', reject).end(body)
  return promise
}
