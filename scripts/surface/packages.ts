/** What the packages give: programs, entries, the oldest Node, and the names and types of each entry. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Members } from './members.ts'

interface Manifest {
  readonly name: string
  readonly engines?: { readonly node?: string }
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, unknown>>
}

const FOLDERS = ['.', 'packages/client', 'packages/create-sallyport']
const TYPED = 'packages/client'

export async function packageMembers(root: string): Promise<Members> {
  const manifests = await Promise.all(FOLDERS.map((folder) => readManifest(join(root, folder))))
  return [...manifests.flatMap(manifestMembers), ...(await typeMembers(root))]
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

function manifestMembers({ name, engines, bin = {}, exports = {} }: Manifest): Members {
  return [
    [`package ${name} node`, engines?.node ?? ''],
    ...Object.keys(bin).map((program) => [`package ${name} program ${program}`, ''] as const),
    ...Object.keys(exports).map((entry) => [`package ${name} entry ${entry}`, ''] as const),
  ]
}

/** As the compiler declares them. */
async function typeMembers(root: string): Promise<Members> {
  const { name, exports = {} } = await readManifest(join(root, TYPED))
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-types-'))
  try {
    const args = ['-p', join(root, TYPED), '--emitDeclarationOnly', '--outDir', folder]
    execFileSync(join(root, 'node_modules/.bin/tsc'), args, { stdio: 'pipe' })
    const entries = Object.entries(exports as Readonly<Record<string, { readonly types: string }>>)
    const found = entries.map(async ([entry, { types }]) => {
      const declared = await declarationsIn(join(folder, types.replace('./dist/', '')))
      return [...declared].flatMap(([own, text]) => declarationMembers(`package ${name} ${entry} ${own}`, text))
    })
    return (await Promise.all(found)).flat()
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The declarations that a file exports, by name; those of other files too that it passes on. */
async function declarationsIn(file: string): Promise<ReadonlyMap<string, string>> {
  const text = withoutComments(await readFile(file, 'utf8'))
  const found = new Map<string, string>()
  // A declaration goes on in lines that are indented or close a bracket.
  for (const [declaration] of text.matchAll(/^export (?!type \*|type \{|[*{]).*\n(?:[ })].*\n?)*/gm)) {
    const [, name = ''] = /\b(?:class|interface|type|function|const) (\w+)/.exec(declaration) ?? []
    found.set(name, `${found.get(name) ?? ''}${declaration}`)
  }
  for (const [, all, names = '', from = ''] of text.matchAll(
    /^export (?:type )?(?:(\*)|\{([^}]*)\}) from '([^']+)';/gm,
  )) {
    const wanted = names.split(',').map((one) => one.trim().replace(/^type /, ''))
    const others = await declarationsIn(join(dirname(file), from.replace(/\.ts$|\.js$/, '.d.ts')))
    for (const [name, declaration] of others) if (all || wanted.includes(name)) found.set(name, declaration)
  }
  return found
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*\*[\s\S]*?\*\//g, '').replaceAll(/\n\s*\n/g, '\n')
}

/** A class or an interface has a member for each of its lines. */
function declarationMembers(owner: string, text: string): Members {
  const [head = '', ...lines] = text.trim().split('\n')
  if (!head.endsWith('{') || /^export type/.test(head)) return [[owner, words(text)]]
  const members = joined(lines.slice(0, -1)).filter((line) => !/^(?:private|#)/.test(line))
  const named = Map.groupBy(members, (line) => /^(?:static |readonly |get |set )*(\[?[\w.]+)/.exec(line)?.[1] ?? line)
  return [[owner, words(head)], ...[...named].map(([name, some]) => [`${owner}.${name}`, some.join(' ')] as const)]
}

/** Each member on one line: what is indented deeper belongs to the line before. */
function joined(lines: readonly string[]): readonly string[] {
  const members: string[] = []
  for (const line of lines.filter((one) => one.trim() !== '')) {
    if (/^ {4}[^\s}]/.test(line)) members.push(words(line))
    else members.push(`${members.pop() ?? ''} ${words(line)}`)
  }
  return members
}

function words(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
