/** The lines of a decision log that are of requests and commands, without those of the server itself. */
export function requestLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '' && !line.includes('"method":"SERVER"'))
}
