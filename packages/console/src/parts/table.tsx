/** A short table; long ones are windowed. */
import type { ComponentChildren } from 'preact'

interface TableProps {
  readonly title: string
  readonly heads: readonly string[]
  /** Its rows. */
  readonly children: ComponentChildren
}

export function Table({ title, heads, children }: TableProps) {
  return (
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
