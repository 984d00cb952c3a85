/** A change as one sentence: `support gains delete on orders (any)`. */
import { timeText } from '../../base/time.ts'
import { listed, type Phrase, say } from '../../present/phrase.ts'
import type { Change, DecisionChange, Term } from './change.ts'

export function sentenceOf(change: Change): Phrase {
  return change.kind === 'decision' ? decisionSentence(change) : change.sentence
}

function decisionSentence(change: DecisionChange): Phrase {
  return say`${whatPhrase(change)}${timesPhrase(change)}`
}

function timesPhrase({ from, until }: DecisionChange): Phrase {
  if (from === undefined) return until === undefined ? [] : say`, until ${timeText(until)}`
  return until === undefined ? say`, from ${timeText(from)} on` : say`, from ${timeText(from)} until ${timeText(until)}`
}

function whatPhrase(change: DecisionChange): Phrase {
  const { part } = change
  const effect = change.effect === 'gains' ? say`gains` : say`loses`
  const actions = listed(change.actions)
  const resources = listed(change.resources)
  const who = say`${callersPhrase(change)} ${effect}`
  const when = scopePhrase(change)
  if (part === 'fields') return say`${who} ${fieldsPhrase(change.fields ?? [])} on ${resources} (${actions}, ${when})`
  if (part === 'query') {
    return say`${who} filtering and sorting by ${fieldsPhrase(change.fields ?? [])} on ${resources} (${actions})`
  }
  const whole = say`${who} ${actions} on ${resources} (${when})`
  if (part === 'role level') return say`${whole}, which no object can meet`
  return change.fields ? say`${whole}, only ${fieldsPhrase(change.fields)}` : whole
}

function callersPhrase({ callers, unchanged }: DecisionChange): Phrase {
  const [[leader = '', partner] = [], ...others] = callers
  if (leader === 'everyone') {
    if (others.length === 0) return say`everyone without a role`
    return unchanged.length === 0 ? say`everyone` : say`everyone (no change for: ${listed(unchanged, say`, `)})`
  }
  const who = partner === undefined ? say`${leader}` : say`${leader} together with ${partner}`
  if (others.length === 0) return who
  const also = others.map((caller) => caller.at(-1) ?? '')
  return say`${who} (also: ${listed(also, say`, `)})`
}

function fieldsPhrase(fields: readonly string[]): Phrase {
  return fields.length === 1 ? say`field ${listed(fields)}` : say`fields ${listed(fields)}`
}

function scopePhrase({ effect, scope }: DecisionChange): Phrase {
  if (!scope) return say`as far as the other grants it`
  const { when, besides } = scope
  const where = listed(when.map(termPhrase), OR)
  if (besides.length === 0) return where
  const others = listed(besides.map(termPhrase), OR)
  return effect === 'gains' ? say`${where}, had ${others}` : say`${where}, keeps ${others}`
}

const OR = say`, or `

/** `owner+draft without shipped or sent`. */
function termPhrase(term: Term): Phrase {
  const held = term.with.length === 0 ? [] : [say`${term.with.join('+')}`]
  const absent = term.without.length === 0 ? [] : [say`without ${listed(term.without, say` or `)}`]
  const words = [...held, ...absent]
  return words.length === 0 ? say`any` : listed(words, say` `)
}
