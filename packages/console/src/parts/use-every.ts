/** Counts up while the tab is in sight. */
import { useEffect, useState } from 'preact/hooks'

export function useEvery(milliseconds: number): number {
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setTurn((last) => last + 1)
    }, milliseconds)
    return () => clearInterval(timer)
  }, [milliseconds])
  return turn
}
