/** Signs what was decided; then there is a file to keep, and a draft that revokes. */
import { useState } from 'preact/hooks'
import type { SignedReview } from '../api/types.ts'
import { Command } from '../parts/command.tsx'
import { download } from '../parts/download.ts'
import { Field } from '../parts/field.tsx'
import { useStore } from '../parts/store.ts'
import { askSigned, useActing } from '../signing/act.ts'
import { Ended } from '../signing/ended.tsx'
import { DraftOf } from './draft-of.tsx'
import { digestOfReport, keepSigned, numbersOf, review } from './review-store.ts'

export function ReviewSigning() {
  const now = useStore(review)
  const [reason, setReason] = useState('')
  const [acting, run] = useActing('explain')
  if (!now) return null
  const { told, decisions, signed } = now
  const { rows } = told.result
  const sign = (event: SubmitEvent) => {
    event.preventDefault()
    run(async () => {
      const [confirm, revoke] = [numbersOf(rows, decisions, 'confirmed'), numbersOf(rows, decisions, 'revoked')]
      const body = {
        report: await digestOfReport(rows),
        ...(confirm !== '' && { confirm }),
        ...(revoke !== '' && { revoke }),
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }
      const { result } = await askSigned<SignedReview>('/policy/v1/review-access', body)
      keepSigned(told, result)
      return `The review is signed: ${result.confirmed} confirmed, ${result.revoked} revoked, ${result.undecided} undecided.`
    })
  }
  return (
    <form class="question" onSubmit={sign}>
      <Field label="Remark" name="reason" value={reason} onInput={setReason} />
      <button type="submit" class="first" disabled={acting.kind === 'busy' || decisions.size === 0}>
        Sign the review
      </button>
      <Ended acting={acting} />
      {signed && <Made signed={signed} />}
    </form>
  )
}

function Made({ signed }: { readonly signed: SignedReview }) {
  const { revoking, revision, time } = signed
  const save = () =>
    download(`access-review-${time.slice(0, 10)}.json`, 'application/json', JSON.stringify(signed, null, 2))
  return (
    <>
      <button type="button" onClick={save}>
        Save the signed review
      </button>
      {revoking.edits.length > 0 && (
        <DraftOf edits={revoking.edits} revision={revision} label="Draft what is revoked" />
      )}
      {revoking.keys.map((id) => (
        <Command key={id} text={`sallyport key revoke ${id}`} />
      ))}
    </>
  )
}
