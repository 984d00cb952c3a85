/**
 * The objects that a command creates beside its own (docs/commands.md): each is decided as its own POST, as the objects
 * were before the command, unless the command says `grants: steps`.
 */
import type { Command, CreateStep, Representation } from '../../resources/resource.ts'
import { createRoute } from '../callers-and-routes.ts'
import { decide } from '../decide.ts'
import type { Steps } from '../facts.ts'
import { isRefusal, type Refusal } from '../refusal.ts'
import { filledFields, valuesToFill } from '../relations/ownership.ts'
import type { Snapshot } from '../snapshot.ts'
import { permitByCommand } from './issue-permits.ts'
import type { Permit } from './permit.ts'
import { type CommandRequest, proposeNew, valuesOfSteps } from './propose.ts'
import type { AskedBy } from './references.ts'

interface CommandRun extends CommandRequest {
  readonly command: Command
  /** The command's object, as the command leaves it. */
  readonly after: Representation
  readonly newId: () => string
}

/** The first refusal, with the place of its step. */
export interface RefusedCreate {
  readonly kind: 'refused create'
  readonly step: number
  readonly refusal: Refusal
}

export function* permitCreates(
  asked: AskedBy,
  policy: Snapshot,
  run: CommandRun,
): Steps<readonly Permit<'create'>[] | RefusedCreate> {
  const permits: Permit<'create'>[] = []
  for (const [step, one] of run.command.creates.entries()) {
    const permit = yield* permitOne(asked, policy, one, run)
    if (isRefusal(permit)) return { kind: 'refused create', step, refusal: permit }
    permits.push(permit)
  }
  return permits
}

function* permitOne(
  asked: AskedBy,
  policy: Snapshot,
  step: CreateStep,
  run: CommandRun,
): Steps<Permit<'create'> | Refusal> {
  const resource = policy.resourceNamed(step.resource)
  const values = valuesOfSteps(step.set, run, run.after)
  const proposalWith = (filled: Representation) =>
    proposeNew(resource, values, { id: run.newId(), filled, now: run.time })
  if (run.command.grantsSteps) {
    const filled = filledFields(resource, policy.ownershipOf(resource.name)).filter(
      ({ attribute }) => attribute === 'id',
    )
    return permitByCommand(
      resource,
      proposalWith(valuesToFill(filled, () => (run.callerId === undefined ? [] : [run.callerId]))),
      policy.limits.objectBytes,
    )
  }
  const decision = yield* decide({ ...asked, ...createRoute(resource), resource }, policy)
  if (isRefusal(decision)) return decision
  if (decision.kind !== 'create') throw new Error(`the create of an object was decided as ${decision.kind}`)
  return yield* decision.permit(proposalWith(decision.filled))
}
