/** Each command explains itself: its help has examples, and each example is a command line that the program takes. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { CommandUnknownOpts } from 'commander'
import { createProgram } from '../../src/cli/program.ts'

interface Leaf {
  readonly command: CommandUnknownOpts
  readonly words: readonly string[]
}

const ANY_WORDS = /'([^']*)'|"([^"]*)"|(\S+)/g

describe('the help of the commands', () => {
  let leaves: readonly Leaf[]

  before(async () => {
    leaves = leavesOf(await createProgram(), [])
  })

  it('is that of each command', () => {
    const names = leaves.map(({ words }) => words.join(' '))
    expect(names).to.include.members(['serve', 'policy check', 'matrix test', 'signing-keys rotate', 'completion'])
    expect(names.length).to.be.greaterThan(30)
  })

  it('has examples of the command, and each can be parsed', async () => {
    for (const { command, words } of leaves) {
      const examples = examplesOf(command)
      expect(examples.length, `examples of ${words.join(' ')}`).to.be.greaterThan(0)
      for (const example of examples) {
        expect(example.slice(0, words.length), example.join(' ')).to.deep.equal(words)
        await parse(example)
      }
    }
  })

  it('shows each default as people type it', async () => {
    const unlike = /default: *(?:[[{"]|\d{5}|true|false|\))/
    const helps = leaves.map(({ command }) => helpOf(command).replaceAll(/\s+/g, ' '))
    expect(helps.filter((help) => unlike.test(help))).to.deep.equal([])
    for (const json of ['[]', '["test/matrix"]', '3600000', 'false', '""', '"."']) {
      expect(`(default: ${json})`).to.match(unlike)
    }
    const token = leaves.find(({ words }) => words[0] === 'token')
    expect(helpOf(token?.command)).to.include('10m, 12h, 30d (default: 1h)')
  })

  it('a faulty example would be found', async () => {
    const failure = await parse(['policy', 'check', '--form', 'json']).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(Error)
    expect(examplesOf((await createProgram('policy')).commands[0] as CommandUnknownOpts)).to.deep.equal([])
  })

  it('is listed in docs/configuration.md, with flags that the commands have', () => {
    const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
    const listed = listedIn(page)
    const named = leaves.filter(({ command }) => command.name() !== 'help').map(({ words }) => words.join(' '))
    expect([...listed.keys()].toSorted()).to.deep.equal([...named, 'backup'].toSorted())
    const flags = new Map(
      leaves.map(({ command, words }) => [words.join(' '), command.options.map(({ long }) => long)]),
    )
    const unknown = [...listed].filter(([name, all]) => all.some((flag) => flags.get(name)?.includes(flag) === false))
    expect(unknown).to.deep.equal([])
    expect([...listedIn('    npm run -s sallyport -- key add|list [--no-such X] --help')]).to.deep.equal([
      ['key add', ['--no-such']],
      ['key list', ['--no-such']],
    ])
  })
})

/** The commands of lines like `key add|list --help`, with the flags that the line names. */
function listedIn(page: string): ReadonlyMap<string, readonly string[]> {
  const lines = [...page.matchAll(/^ {4}npm run -s sallyport -- (\S+)(?: ([a-z][a-z|-]*))?(.*)$/gm)]
  return new Map(
    lines.flatMap(([, group = '', parts, rest = '']) => {
      const names = parts === undefined || group === 'completion' ? [''] : parts.split('|').map((part) => ` ${part}`)
      const flags = (rest.match(/--[a-z-]+/g) ?? []).filter((flag) => flag !== '--help')
      return names.map((name) => [`${group}${name}`, flags] as const)
    }),
  )
}

function leavesOf(command: CommandUnknownOpts, words: readonly string[]): readonly Leaf[] {
  if (command.commands.length === 0) return [{ command, words }]
  return command.commands.flatMap((one) => leavesOf(one, [...words, one.name()]))
}

function helpOf(command: CommandUnknownOpts | undefined): string {
  let help = ''
  command?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
  return help
}

function examplesOf(command: CommandUnknownOpts): readonly (readonly string[])[] {
  const lines = helpOf(command).split('Examples:\n')[1]?.split('\n') ?? []
  return lines
    .filter((line) => line.startsWith('  sallyport '))
    .map((line) => wordsOf(line.slice('  sallyport '.length)))
}

/** As a shell reads them, without redirections. */
function wordsOf(line: string): readonly string[] {
  const command = line.replace(/ [<>] \S+$/, '')
  return [...command.matchAll(ANY_WORDS)].map(([, single, double, plain]) => single ?? double ?? plain ?? '')
}

/** Throws where the program would refuse the words; does nothing else. */
async function parse(words: readonly string[]): Promise<void> {
  const program = await createProgram(words[0])
  for (const { command } of leavesOf(program, [])) {
    command.configureOutput({ writeErr: () => undefined, outputError: () => undefined }).action(() => undefined)
  }
  await program.parseAsync(words, { from: 'user' })
}
