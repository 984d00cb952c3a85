/** Sentences of the server: values in backticks become code. Names are shown, never run. */
import { Fragment } from 'preact'

export function Prose({ text }: { readonly text: string }) {
  const parts = text.split('`')
  return (
    <>
      {parts.map((part, i) => {
        const key = `${i} ${part}`
        return i % 2 === 1 ? <code key={key}>{part}</code> : <Fragment key={key}>{part}</Fragment>
      })}
    </>
  )
}
