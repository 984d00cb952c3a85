/** What a command line asks for, of what could be loaded: a command starts sooner when the others aren't. */
type Load<T> = () => T | Promise<T>

/** That of the word; all of them for help, and for a word that is none of them. */
export async function oneOrAll<T>(all: Readonly<Record<string, Load<T>>>, word = ''): Promise<readonly T[]> {
  const one = Object.hasOwn(all, word) ? all[word] : undefined
  return Promise.all((one ? [one] : Object.values(all)).map((load) => load()))
}
