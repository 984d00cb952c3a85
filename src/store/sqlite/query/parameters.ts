/** Parameters in the text of a statement. */

export function parameters(count: number): string {
  return Array(count).fill('?').join(', ')
}
