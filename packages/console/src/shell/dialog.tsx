/** A dialog before the page: the browser keeps the focus in it, and gives it back. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly label: string
  /** Undefined for a dialog that Escape doesn't close. */
  readonly close?: () => void
  readonly children: ComponentChildren
}

export function Dialog({ label, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    return () => opened?.close()
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    close?.()
  }
  // A browser may close it all the same, at a second Escape.
  const stay = () => {
    if (!close && dialog.current?.isConnected) dialog.current.showModal()
  }
  return (
    <dialog ref={dialog} aria-label={label} onCancel={cancel} onClose={stay}>
      {children}
    </dialog>
  )
}
