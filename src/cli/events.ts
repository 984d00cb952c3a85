/** sallyport events …: the subscriptions of subscriptions.yaml, and the events that their receivers didn't take. */
import { environment } from '../base/command-process.ts'
import { readConfig } from '../config/config.ts'
import { printNote, printResult } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import { count, table } from '../present/text.ts'
import type { ListedSubscription } from '../tools/events/subscriptions.ts'
import { commandGroup, gather, TEXT_OR_JSON, withHelp } from './options.ts'

const HEAD = ['SUBSCRIPTION', 'STATE', 'TO', 'RESOURCE', 'KEY', 'LAG', 'DEAD LETTERS', 'WHY']

export function eventsCommand() {
  return commandGroup(
    'events',
    'look after the webhooks of subscriptions.yaml; the server may be running',
    (parent) =>
      withHelp(parent.command('list'), {
        about: 'list the subscriptions: whether their receivers take events, how far they are, and dead letters',
        examples: ['events list', 'events list erp', 'events list --format json'],
      })
        .argument('[name]', 'only this subscription, with its dead letters')
        .addOption(TEXT_OR_JSON)
        .action(async (name, { format }) => {
          const { listSubscriptions } = await load()
          const subscriptions = await listSubscriptions(readConfig(environment()), name)
          printResult(format, { subscriptions }, listText(subscriptions, name !== undefined))
        }),
    (parent) =>
      withHelp(parent.command('redeliver'), {
        about: 'try again now, also after a 410; with --id or --all, send dead letters again',
        note: 'What is sent again is decided again. If the key may not see it any more, or the log of changes has ended, the receiver is sent a reset.',
        examples: ['events redeliver erp', 'events redeliver erp --all', 'events redeliver erp --id erp.17'],
      })
        .argument('<name>', 'the subscription')
        .option('--id <id>', 'a dead letter, as `events list` shows it; repeat for more', gather)
        .option('--all', 'all dead letters', false)
        .addOption(TEXT_OR_JSON)
        .action(async (name, { id = [], all, format }) => {
          const { redeliver } = await load()
          const due = await redeliver(readConfig(environment()), name, all ? 'all' : id)
          const letters = due.length === 0 ? '' : `, and sends ${count(due.length, 'dead letter')} again`
          printResult(format, { name, due }, `The server tries ${name} again${letters}.\n`)
        }),
    (parent) =>
      withHelp(parent.command('skip'), {
        about: 'give up the event that is tried again and again: it becomes a dead letter, and the next one follows',
        examples: ['events skip erp'],
      })
        .argument('<name>', 'the subscription')
        .addOption(TEXT_OR_JSON)
        .action(async (name, { format }) => {
          const { skipEvent } = await load()
          await skipEvent(readConfig(environment()), name)
          printResult(format, { name }, `The server skips the event that ${name} doesn't take.\n`)
        }),
    (parent) =>
      withHelp(parent.command('secret'), {
        about: 'print the secret that signs the requests of a subscription',
        note: 'Only the secret goes to standard output. The receiver verifies signatures with it, as Standard Webhooks says.',
        examples: ['events secret erp > erp.secret'],
      })
        .argument('<name>', 'the subscription')
        .addOption(TEXT_OR_JSON)
        .action(async (name, { format }) => {
          const { signingSecret } = await load()
          const secret = await signingSecret(readConfig(environment()), name)
          printNote(
            `The secret of ${name}: give it to the receiver alone. Raise \`secret\` in subscriptions.yaml for a new one.\n`,
          )
          printResult(format, { name, secret }, `${secret}\n`)
        }),
  )
}

const load = () => import('../tools/events/subscriptions.ts')

function listText(subscriptions: readonly ListedSubscription[], withLetters: boolean): string {
  if (subscriptions.length === 0) return 'The policy in force has no subscriptions.\n'
  const rows = subscriptions.map(({ name, state, url, resource, key, lag, deadLetters, why }) =>
    [name, state, new URL(url).host, resource, key, String(lag ?? '-'), String(deadLetters.length), why ?? ''].map(
      printable,
    ),
  )
  const letters = withLetters ? subscriptions.flatMap(({ deadLetters }) => deadLetters) : []
  const letterRows = letters.map(({ id, type, at, why, due }) => [id, type, at, due ? 'due' : '', why].map(printable))
  const below =
    letters.length === 0 ? '' : `\n${table([['DEAD LETTER', 'TYPE', 'SINCE', '', 'WHY'], ...letterRows]).join('\n')}\n`
  return `${table([HEAD, ...rows]).join('\n')}\n${below}`
}
