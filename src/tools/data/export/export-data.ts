/**
 * Writes what a caller's own lists and reads show, an object a line: the objects of the lists, each with the fields that
 * its list shows and those that a read of it shows. It asks page by page, so its memory doesn't grow with the objects.
 */
import { printable } from '../../../present/quote.ts'
import { count } from '../../../present/text.ts'
import type { Representation, Resource } from '../../../resources/resource.ts'
import { ToolError } from '../../load-policy.ts'
import type { Pipeline, PipelineAnswer } from '../pipeline.ts'
import { inOrderOfNames, itemPath, pathOf } from '../routes-of.ts'

/** How many objects are read at once. */
const PARALLEL = 16

export interface ExportSink {
  /** Takes one line with its end, and is ready for the next. */
  write(line: string): Promise<void>
}

interface ExportedResource {
  readonly resource: string
  readonly objects: number
  /** Why the caller's list was refused, or that no route lists the objects. */
  readonly refused?: string
}

interface ExportOptions {
  readonly resources: readonly Resource[]
  readonly now: number
  readonly signal: AbortSignal
  readonly progress: (objects: number) => void
}

/**
 * The last line counts the objects, so that a file that was cut off can be told from a whole one. Throws ToolError, and
 * what the sink throws.
 */
export async function exportData(
  pipeline: Pipeline,
  sink: ExportSink,
  options: ExportOptions,
): Promise<readonly ExportedResource[]> {
  const exported: ExportedResource[] = []
  for (const resource of inOrderOfNames(pipeline, options.resources)) {
    exported.push(await exportResource(pipeline, sink, { ...options, resource }))
  }
  const objects = exported.reduce((sum, one) => sum + one.objects, 0)
  await sink.write(`${JSON.stringify({ end: { objects } })}\n`)
  return exported
}

interface OneResource extends ExportOptions {
  readonly resource: Resource
}

async function exportResource(pipeline: Pipeline, sink: ExportSink, one: OneResource): Promise<ExportedResource> {
  const { resource, now, progress } = one
  const path = pathOf(resource, 'list', now)
  if (path === undefined) return { resource: resource.name, objects: 0, refused: 'no route lists the objects' }
  let objects = 0
  for await (const page of pagesOf(pipeline, path, one)) {
    if (page.kind === 'refused') return { resource: resource.name, objects, refused: page.why }
    const whole = page.isWhole ? page.items : await readAll(pipeline, one, page.items)
    for (const object of whole) await sink.write(`${JSON.stringify({ resource: resource.name, object })}\n`)
    objects += whole.length
    progress(whole.length)
  }
  return { resource: resource.name, objects }
}

type Exported =
  /** `isWhole`: reads of the objects would show nothing more. */
  | { readonly kind: 'page'; readonly items: readonly Representation[]; readonly isWhole: boolean }
  | { readonly kind: 'refused'; readonly why: string }

async function* pagesOf(pipeline: Pipeline, path: string, { resource, signal }: OneResource): AsyncGenerator<Exported> {
  for (let cursor: string | undefined; ; ) {
    if (signal.aborted) throw new ToolError('stopped: what was written is only a part')
    const next = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    // Asked twice, because the policy may change meanwhile.
    const showMore = pipeline.readsShowMore(resource.name)
    const answer = await pipeline.ask({ method: 'GET', path: `${path}?limit=${pipeline.pageMost}${next}` })
    if (answer.status === 403 && cursor === undefined) return yield { kind: 'refused', why: answerText(answer) }
    refuseOther(answer, `the list of ${resource.name}`)
    const isWhole = !showMore && !pipeline.readsShowMore(resource.name)
    yield { kind: 'page', items: answer.body.items, isWhole }
    if (answer.body.next === null) return
    cursor = answer.body.next
  }
}

/** Each object of a page with the fields that a read shows besides. */
async function readAll(
  pipeline: Pipeline,
  { resource, now }: OneResource,
  items: readonly Representation[],
): Promise<readonly Representation[]> {
  const path = pathOf(resource, 'read', now)
  if (path === undefined) return items
  const whole: Representation[] = []
  for (let at = 0; at < items.length; at += PARALLEL) {
    const some = items.slice(at, at + PARALLEL)
    whole.push(...(await Promise.all(some.map((item) => readOne(pipeline, path, item)))))
  }
  return whole
}

/** An object that may be listed and not read, or that was deleted meanwhile, stays as the list showed it. */
async function readOne(pipeline: Pipeline, path: string, listed: Representation): Promise<Representation> {
  if (typeof listed.id !== 'string') return listed
  const answer = await pipeline.ask({ method: 'GET', path: itemPath(path, listed.id) })
  if (answer.status === 403 || answer.status === 404) return listed
  refuseOther(answer, `the object ${listed.id}`)
  return { ...listed, ...answer.body }
}

function refuseOther(answer: PipelineAnswer, what: string): void {
  if (answer.status === 200) return
  throw new ToolError(
    `${what} can't be read: ${answerText(answer)}; what was written is only a part. Run \`sallyport data check\``,
  )
}

export function answerText({ status, body }: PipelineAnswer): string {
  const { code, detail } = body ?? {}
  return [status, code, detail && `(${detail})`].filter((part) => part !== undefined).join(' ')
}

// What an export prints on standard error.

export function exportText(exported: readonly ExportedResource[]): string {
  const lines = exported.map(({ resource, objects, refused }) => {
    return refused === undefined ? `${resource}: ${count(objects, 'object')}` : `${resource}: nothing, ${refused}`
  })
  return `${lines.map(printable).join('\n')}\n`
}
