/** How the subscriptions of subscriptions.yaml are doing, and what commands ask of the process that delivers. */
import { oneOf } from '../../base/did-you-mean.ts'
import type { Config } from '../../config/config.ts'
import type { Subscription } from '../../decide/policy.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import { WEBHOOK_SECRET, webhookSecret } from '../../server/webhooks/signature.ts'
import type { OpenedStore } from '../../store/contract.ts'
import type { DeadLetter, DeliveryState } from '../../store/deliveries.ts'
import { databaseExists, openDatabaseBeside } from '../../store/open.ts'
import { ToolError } from '../load-policy.ts'
import { readPolicyInForce } from '../open-directory.ts'

/**
 * `waiting`: nothing was sent yet. `refused`: the key may not follow the events. `gone`: the receiver wants no more (410).
 */
type SubscriptionHealth = 'disabled' | 'waiting' | 'delivering' | 'failing' | 'refused' | 'gone'

export interface ListedSubscription {
  readonly name: string
  readonly state: SubscriptionHealth
  readonly url: string
  readonly key: string
  readonly resource: string
  /** The number of the last event that is done with; null before the first. */
  readonly last: number | null
  /** Changes of all objects since then. */
  readonly lag: number | null
  /** RFC 3339. */
  readonly failingSince: string | null
  readonly nextAttempt: string | null
  readonly why: string | null
  readonly deadLetters: readonly ListedLetter[]
}

type ListedLetter = Pick<DeadLetter, 'id' | 'type' | 'at' | 'why'> & { readonly due: boolean }

export async function listSubscriptions(config: Config, name?: string): Promise<readonly ListedSubscription[]> {
  return inSubscriptions(config, async ({ deliveries, changes }, subscriptions) => {
    const [{ states }, last] = await Promise.all([deliveries.kept(), changes.last()])
    const wanted = name === undefined ? subscriptions : [named(name, subscriptions)]
    return Promise.all(
      wanted.map(async (one) => listed(one, states.get(one.name) ?? {}, last, await deliveries.letters(one.name))),
    )
  })
}

function listed(
  subscription: Subscription,
  state: DeliveryState,
  newest: number,
  letters: readonly DeadLetter[],
): ListedSubscription {
  const { name, url, key, resource } = subscription
  const { after, failingSince, nextAt, why } = state
  const last = after === undefined ? null : Number.parseInt(after, 10)
  return {
    name,
    state: healthOf(subscription, state),
    url,
    key,
    resource,
    last,
    lag: last === null ? null : Math.max(0, newest - last),
    failingSince: failingSince ?? null,
    nextAttempt: nextAt === undefined ? null : new Date(nextAt).toISOString(),
    why: why ?? null,
    deadLetters: letters.map(({ id, type, at, why, isDue = false }) => ({ id, type, at, why, due: isDue })),
  }
}

function healthOf({ enabled, url }: Subscription, state: DeliveryState): SubscriptionHealth {
  if (!enabled) return 'disabled'
  if (state.gone === url) return 'gone'
  if (state.isRefused) return 'refused'
  if (state.failingSince !== undefined) return 'failing'
  return state.after === undefined ? 'waiting' : 'delivering'
}

/** Tries again at once, and sends the dead letters with these ids again. Returns those that are due now. */
export async function redeliver(
  config: Config,
  name: string,
  ids: readonly string[] | 'all',
): Promise<readonly string[]> {
  return inSubscriptions(config, async ({ deliveries }, subscriptions) => {
    named(name, subscriptions)
    const letters = await deliveries.letters(name)
    const unknown = ids === 'all' ? undefined : ids.find((id) => !letters.some((one) => one.id === id))
    if (unknown !== undefined) {
      throw new ToolError(
        `\`${name}\` has no dead letter \`${unknown}\`: take an id from \`sallyport events list ${name}\``,
      )
    }
    const due = letters.filter(({ id }) => ids === 'all' || ids.includes(id))
    for (const letter of due) await deliveries.bury(name, { ...letter, isDue: true })
    await deliveries.order(name, 'retry')
    return due.map(({ id }) => id)
  })
}

/** The event that is tried becomes a dead letter after one more attempt. */
export async function skipEvent(config: Config, name: string): Promise<void> {
  await inSubscriptions(config, async ({ deliveries }, subscriptions) => {
    named(name, subscriptions)
    const state = (await deliveries.kept()).states.get(name)
    if (state?.failingSince === undefined || state.isRefused) {
      throw new ToolError(`no event of \`${name}\` waits to be tried again, so nothing can be skipped`)
    }
    await deliveries.order(name, 'skip')
  })
}

export async function signingSecret(config: Config, name: string): Promise<string> {
  return inSubscriptions(config, async ({ store }, subscriptions) => {
    const { secret } = named(name, subscriptions)
    return webhookSecret(await store.secret(WEBHOOK_SECRET), name, secret)
  })
}

function named(name: string, subscriptions: readonly Subscription[]): Subscription {
  const found = subscriptions.find((one) => one.name === name)
  if (found) return found
  const names = subscriptions.map((one) => one.name)
  const hint = names.length === 0 ? 'the policy in force has none' : `name ${oneOf(name, names)}`
  throw new ToolError(`there is no subscription \`${name}\`: ${hint}`)
}

/** Throws ToolError, FileError or UnfitDatabase. */
async function inSubscriptions<T>(
  config: Config,
  work: (opened: OpenedStore, subscriptions: readonly Subscription[]) => Promise<T>,
): Promise<T> {
  const { database, schemas } = config
  if (!databaseExists(database)) {
    const fix = 'start the server once, or set DATA_DIR to its data folder'
    throw new ToolError(`there is no database \`${database.name}\`: ${fix}`)
  }
  const resources = await loadResources(schemas)
  const { subscriptions } = await readPolicyInForce(config, resources)
  const none = { byName: new Map(), routes: [] }
  const opened = await openDatabaseBeside(database, { resources: none, now: () => new Date() })
  return work(opened, subscriptions).finally(() => opened.store.close())
}
