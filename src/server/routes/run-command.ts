/**
 * POST of a command (docs/commands.md): its steps as one write of the object. The caller needs the grant of the command's
 * action and, unless the command says `grants: steps`, the right to update what it sets, asked as a PATCH asks for it.
 */
import { pointerOfPath } from '../../base/json-pointer.ts'
import { Problem } from '../../base/problems/problem.ts'
import { textOfTime } from '../../base/time.ts'
import { decide } from '../../decide/decide.ts'
import type { UpdateDecision } from '../../decide/decision.ts'
import { allReads, type Permit, restingOn, updatedObject } from '../../decide/permits/permit.ts'
import { proposePatched } from '../../decide/permits/propose.ts'
import { actionOnObject } from '../../decide/permits/references.ts'
import { orRefuse, Refused, refusalBy } from '../../decide/refusal.ts'
import { represent, type StoredObject, sameJson } from '../../resources/object.ts'
import type { Command, Json, Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Kept } from '../../store/contract.ts'
import { StaleObject } from '../../store/errors.ts'
import { claimOf, once } from '../idempotency/idempotency-key.ts'
import { refuseUnmet } from './entity-tag.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'
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
    const steps = { command, values: valuesOf(command, { body, request, time }) }
    const permit = await permitSteps(services, request, decision, steps)
    const outcomeOf = async (object: StoredObject, written?: typeof permit) => ({
      ...answered(services, request, object, await request.ask(decision.show(object), written)),
      evidence: decision.evidence,
    })
    // Otherwise the tag would reveal whether a field that the caller can't read already had the value.
    const isBlind = Object.keys(steps.values).some((name) => !decision.readable.has(name))
    if (!isBlind && sameJson(permit.document, decision.object.document)) return outcomeOf(decision.object)
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
  readonly values: Representation
}

/** Throws Refused, or Problem command-state, precondition-required, precondition-failed or reference-missing. */
async function permitSteps(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  { command, values }: CommandSteps,
): Promise<Permit<'update'>> {
  const { resource } = request
  const { object, readable } = decision
  const decisions = command.grantsSteps ? [decision] : [decision, await updateOf(request, object)]
  const named = new Set(Object.keys(values))
  const required = Object.keys(command.require)
  // As a test of a JSON Patch: who can't read these fields is refused whatever they hold, so no answer tells it.
  for (const one of decisions) orRefuse(one.checkRead(required, named))
  const before = represent(object)
  const refuseUnmetNow = () => refuseUnmet(services.tags, request, { resource: resource.name, object })
  const unmet = required.filter(
    (name) => !command.require[name]?.some((value) => sameJson(value, before[name] ?? null)),
  )
  if (unmet.length > 0) {
    for (const one of decisions) orRefuse(one.checkNamed(named))
    refuseUnmetNow()
    throw otherState(command, unmet)
  }
  const after = { ...before, ...values }
  const proposal = proposePatched(resource, after, { before, named, read: new Set(required) })
  const permits: Permit<'update'>[] = []
  for (const one of decisions) permits.push(orRefuse(await request.ask(one.permit(proposal))))
  refuseUnmetNow()
  const reads = allReads(permits)
  const last = permits.at(-1)
  if (!last || !reads) throw new StaleObject()
  const permit = restingOn(last, reads)
  return resource.references
    ? withReferences(services, request, permit, { document: object.document, named, readable })
    : permit
}

/** The decision about a PATCH of the same object. */
async function updateOf(
  { ask, asked, snapshot, resource }: HandledRequest,
  object: StoredObject,
): Promise<UpdateDecision> {
  const question = { ...asked(), ...actionOnObject(resource, 'update'), resource, id: object.id }
  const decision = orRefuse(await ask(decide(question, snapshot)))
  if (decision.kind !== 'update') throw new Error(`the update of an object was decided as ${decision.kind}`)
  if (decision.object.version !== object.version) throw new StaleObject()
  return decision
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

interface StepInput {
  readonly body: Representation
  readonly request: HandledRequest
  readonly time: string
}

/** Without a member of the input that the body lacks: the field stays as it is. */
function valuesOf({ set }: Command, { body, request: { caller }, time }: StepInput): Representation {
  return Object.fromEntries(
    Object.entries(set).flatMap(([name, step]): readonly [string, Json][] => {
      if ('value' in step) return [[name, step.value]]
      if ('time' in step) return [[name, time]]
      if ('caller' in step) return [[name, callerId(caller)]]
      return Object.hasOwn(body, step.input) ? [[name, body[step.input] as Json]] : []
    }),
  )
}

/** Without credentials there is no id. */
function callerId(caller: HandledRequest['caller']): string {
  if (!caller) throw new Refused(refusalBy('own-record'))
  return caller.id
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
