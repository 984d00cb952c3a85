/** The first screen of docs/performance.md: what the server costs, beside what people would write or take in its place. */
import type { PartResult, Row, RunResult, Sample } from './result.ts'
import { median, ratios } from './statistics.ts'
import { cell, number, table } from './table.ts'

export const NOT_MEASURED = 'Not measured yet.'

/** Subjects that the first sentence names. */
const NAMED: Readonly<Record<string, string>> = {
  'Koa by hand': 'Koa with well-known packages by hand',
  'Fastify, token cache': 'Fastify tuned by hand',
  'koa + router, our headers': 'Koa without any check',
}

/** Subject of a row of the guarded GET -> what it is to somebody who decides. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  'Koa by hand': 'Koa with well-known packages, by hand',
  Fastify: 'Fastify by hand, for speed',
  'Fastify, token cache': 'the same, which keeps verified tokens',
  'json-server': 'json-server, which checks nothing',
  'koa + router, our headers': 'Koa without any check, with our headers',
  'bare node:http': "Node's HTTP server alone",
}

const OURS = 'ours'

export function summaryText({ parts }: RunResult): string {
  const reads = parts.find(({ id }) => id === 'guarded-get')?.rows ?? []
  const blocks = [sentence(reads), readsTable(reads), othersTable(parts)]
  return blocks.filter((block) => block !== '').join('\n\n') || NOT_MEASURED
}

function sentence(reads: readonly Row[]): string {
  const micros = of(reads, OURS, 'CPU us/req')
  if (!micros) return ''
  const beside = Object.entries(NAMED).flatMap(([subject, what]) => {
    const times = timesOf(reads, subject)
    return times.length === 0 ? [] : [`${number(median(times))} times that of ${what}`]
  })
  const rate = beside.length === 0 ? '' : ` The rate of reads is ${listed(beside)}.`
  return `A read of one object takes ${number(median(micros))} us of one CPU, with all checks and the record.${rate}`
}

function listed(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')}, and ${texts.at(-1)}`
}

function readsTable(reads: readonly Row[]): string {
  const mine = of(reads, OURS, 'req/s')
  if (!mine) return ''
  const line = (subject: string, what: string) => [
    what,
    number(median(of(reads, subject, 'req/s') ?? [])),
    number(median(of(reads, subject, 'CPU us/req') ?? [])),
    subject === OURS ? '1' : cell(timesOf(reads, subject)),
  ]
  const others = Object.entries(ALTERNATIVES).filter(([subject]) => of(reads, subject, 'req/s'))
  const lines = [
    line(OURS, '**Sallyport**, with everything on'),
    ...others.map(([subject, what]) => line(subject, what)),
  ]
  return table(['reads of one object', 'a second', 'CPU us', "Sallyport's rate / this"], lines)
}

/** How many times as many reads ours answers, within each round. */
function timesOf(reads: readonly Row[], subject: string): Sample {
  const row = (name: string) => reads.find((one) => one.subject === name)
  return ratios('req/s', row(OURS), row(subject))
}

interface Figure {
  readonly what: string
  readonly part: string
  readonly quantity: string
  readonly ours: string
  /** What stands beside it: subject, and what it is. */
  readonly other?: readonly [subject: string, what: string, quantity?: string]
}

const FIGURES: readonly Figure[] = [
  {
    what: 'durable creates in a second, 64 connections',
    part: 'store',
    quantity: 'req/s',
    ours: 'create, 64 connections',
    other: ['create by hand, 64 connections', 'node:http and node:sqlite, no checks'],
  },
  { what: 'lists of 50 out of a million, in a second', part: 'store', quantity: 'req/s', ours: 'list of 50' },
  {
    what: 'a decision alone, us, under 10,000 rules',
    part: 'decisions',
    quantity: 'ours us',
    ours: '10,000 rules, 500 resources',
    other: ['10,000 rules, 500 resources', 'CASL, kept for each user', 'CASL, ability kept us'],
  },
  {
    what: "another service's question, in a second",
    part: 'access',
    quantity: 'decisions/s',
    ours: 'evaluation',
    other: ['Cerbos, evaluation', 'Cerbos'],
  },
  {
    what: 'memory after load, MiB',
    part: 'start',
    quantity: 'RSS MiB, after load',
    ours: 'ours',
    other: ['Fastify, token cache', 'Fastify by hand'],
  },
  {
    what: 'from the start to the first answer, ms',
    part: 'start',
    quantity: 'ms to first answer',
    ours: 'ours',
    other: ['Fastify, token cache', 'Fastify by hand'],
  },
  {
    what: 'until a policy of 10,000 rules rules, ms, under load',
    part: 'reload',
    quantity: 'ms to active',
    ours: '10,000 rules',
  },
]

function othersTable(parts: readonly PartResult[]): string {
  const lines = FIGURES.flatMap(({ what, part, quantity, ours, other }) => {
    const rows = parts.find(({ id }) => id === part)?.rows ?? []
    const mine = of(rows, ours, quantity)
    if (!mine) return []
    const theirs = other && of(rows, other[0], other[2] ?? quantity)
    return [[what, number(median(mine)), theirs ? `${number(median(theirs))} (${other[1]})` : '']]
  })
  return table(['', 'Sallyport', 'beside it'], lines)
}

function of(rows: readonly Row[], subject: string, quantity: string): Sample | undefined {
  const sample = rows.find((row) => row.subject === subject)?.quantities[quantity]
  return sample && sample.length > 0 ? sample : undefined
}
