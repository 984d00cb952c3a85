/** The status of an answer: a gateway gets one that it passes on. */
import type { Gateway } from '../../resources/resource.ts'
import type { RequestState } from '../stages/state.ts'

interface Ending extends Pick<RequestState, 'problem' | 'outcome'> {
  readonly forwarded: RequestState['forwarded'] | undefined
}

export function answeredStatus({ problem, outcome, forwarded }: Partial<Ending>): number {
  if (!problem) return outcome?.status ?? 500
  return forwarded ? statusForGateway(forwarded.profile, problem.status) : problem.status
}

/** `status`: of a problem. A gateway that knows only 401 and 403 would call another refusal a fault of the server. */
export function statusForGateway({ passesOn }: Gateway, status: number): number {
  return passesOn === 'every status' || status >= 500 || status === 401 ? status : 403
}
