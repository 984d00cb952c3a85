/**
 * POST of a command (docs/commands.md): its steps as one write of the object. The grants of the command's action are those
 * of its rules and, unless the command says `grants: steps`, also of the rules about `update` (`also` of an Action).
 */
import { pointerOfPath } from '../../base/json-pointer.ts'
import { Problem } from '../../base/problems/problem.ts'
import { textOfTime } from '../../base/time.ts'
import type { UpdateDecision } from '../../decide/decision.ts'
import { permitCreates } from '../../decide/permits/command-creates.ts'
import { type Permit, updatedObject } from '../../decide/permits/permit.ts'
import { proposeCommand } from '../../decide/permits/propose.ts'
import { orRefuse, Refused } from '../../decide/refusal.ts'
import { represent, type StoredObject, sameJson } from '../../resources/object.ts'
import type { Command, Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Kept } from '../../store/contract.ts'
import { claimOf, once } from '../idempotency/idempotency-key.ts'
import { newId } from './create-object.ts'
import { refuseUnmet } from './entity-tag.ts'
import type { HandledRequest, Outcome, Services, WrittenAlong } from './handler.ts'
import { withReferences } from './references.ts'

/** A repeat with the same key is recognized before the object's state is looked at, which the first request has changed. */
export async function runCommand(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  body: Representation,
): Promise<Outcome> {
  const { command, path } = request.route
  if (!command) throw new Error(`${path} is no command`)
  const payload = { id: decision.object.id, body }
  const claim = claimOf(request.idempotencyKey, { caller: request.caller, route: path, body: payload })
  const create = async () => {
    const time = textOfTime(services.now())
    const { permit, named, created } = await permitSteps(services, request, decision, { command, body, time })
    const outcomeOf = async (object: StoredObject, written?: typeof permit) => ({
      ...answered(services, request, object, await request.ask(decision.show(object), written)),
      evidence: decision.evidence,
      ...(created.length > 0 && { along: { permits: created, told: toldOf(created) } }),
    })
    // Otherwise the tag would reveal whether a field that the caller can't read already had the value.
    const isBlind = !named.isSubsetOf(decision.readable)
    if (created.length === 0 && !isBlind && sameJson(permit.document, decision.object.document))
      return outcomeOf(decision.object)
    const outcome = await outcomeOf(updatedObject(permit, decision.object, time), permit)
    return request.writes().update(permit, outcome, { time, replay: claim })
  }
  if (!claim) return create()
  const replay = async ({ object }: Kept) => {
    const shown = await request.ask(decision.showAgain(object))
    const { headers, ...outcome } = answered(services, request, object, shown)
    return { ...outcome, headers: { ...headers, 'Idempotency-Replayed': 'true' } }
  }
  return once(services, claim, { create, replay })
}

interface CommandSteps {
  readonly command: Command
  readonly body: Representation
  readonly time: string
}

interface PermittedSteps {
  readonly permit: Permit<'update'>
  /** The fields that they set. */
  readonly named: ReadonlySet<string>
  readonly created: readonly Permit<'create'>[]
}

/** Throws Refused, or Problem command-state, precondition-required, precondition-failed or reference-missing. */
async function permitSteps(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  { command, body, time }: CommandSteps,
): Promise<PermittedSteps> {
  const { resource, caller } = request
  const { object, readable } = decision
  const before = represent(object)
  const by = { body, callerId: caller?.id, time }
  const proposal = proposeCommand(resource, command, { ...by, before })
  const { named, read } = proposal
  // As a test of a JSON Patch: who can't read these fields is refused whatever they hold, so no answer tells it.
  orRefuse(decision.checkRead(read, named))
  const refuseUnmetNow = () => refuseUnmet(services.tags, request, { resource: resource.name, object })
  const unmet = Object.keys(command.require).filter(
    (name) => !command.require[name]?.some((value) => sameJson(value, before[name] ?? null)),
  )
  if (unmet.length > 0) {
    orRefuse(decision.checkNamed(named))
    refuseUnmetNow()
    throw otherState(command, unmet)
  }
  const permit = orRefuse(await request.ask(decision.permit(proposal)))
  refuseUnmetNow()
  const references = { document: object.document, named, readable }
  const checked = resource.references ? await withReferences(services, request, permit, references) : permit
  const creates = { command, after: proposal.after, ...by, newId }
  const created = command.creates.length === 0 ? [] : await permitAllCreates(services, request, decision, creates)
  return { permit: checked, named, created }
}

/** Throws Refused, or Problem invalid-body or reference-missing, whose pointers begin with the place of the step. */
async function permitAllCreates(
  services: Services,
  request: HandledRequest,
  { evidence }: UpdateDecision,
  run: Parameters<typeof permitCreates>[2],
): Promise<readonly Permit<'create'>[]> {
  const { ask, asked, snapshot, resources } = request
  const found = await ask(permitCreates(asked(), snapshot, run))
  if ('refusal' in found) {
    const { refusal, step } = found
    const { check, faults } = refusal
    const isOfPolicy = check !== 'schema' && check !== 'size'
    const placed = faults?.map((fault) => ({ ...fault, pointer: `/create/${step}${fault.pointer}` }))
    // The record is about the command's own object, and says nothing of others.
    throw new Refused({ ...refusal, check: isOfPolicy ? 'object' : check, evidence, ...(placed && { faults: placed }) })
  }
  const checked = found.map(async (permit, step) => {
    const resource = resources.byName.get(permit.resource)
    if (!resource?.references) return permit
    return withReferences(services, { ...request, resource }, permit, undefined, `/create/${step}`)
  })
  return Promise.all(checked)
}

function toldOf(created: readonly Permit<'create'>[]): WrittenAlong['told'] {
  return { changed: [], deleted: [], created: created.map(({ resource, id }) => ({ resource, objectId: id })) }
}

function otherState({ require }: Command, unmet: readonly string[]): Problem {
  const errors = unmet.map((name) => {
    const values = (require[name] ?? []).map(
      (value) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``,
    )
    return { pointer: pointerOfPath([name]), detail: `must be ${values.join(' or ')} before`, code: 'require' }
  })
  return new Problem('command-state', 'The object is not in a state in which this can be done; read it again.', {
    errors,
  })
}

function answered(
  { tags }: Services,
  { resource }: HandledRequest,
  object: StoredObject,
  shown: Representation | undefined,
): Outcome {
  const status = successStatus('update', shown !== undefined)
  if (!shown) return { status, headers: {}, body: undefined }
  const location = resource.canonicalItemPath?.replace('{id}', () => encodeURIComponent(object.id))
  const headers = {
    ETag: tags.of({ resource: resource.name, object }, shown),
    ...(location === undefined ? {} : { 'Content-Location': location }),
  }
  return { status, headers, body: shown }
}
