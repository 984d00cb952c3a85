/** The command line that shows the same, to copy. */
import { useRef, useState } from 'preact/hooks'

export function Command({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const code = useRef<HTMLElement>(null)
  const copy = async () => {
    // Browsers give pages of plain http no clipboard, but for those of this machine.
    if (!navigator.clipboard) return code.current && getSelection()?.selectAllChildren(code.current)
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <p class="command">
      <code ref={code}>{text}</code>
      <button type="button" onClick={() => void copy()} onBlur={() => setCopied(false)}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </p>
  )
}
