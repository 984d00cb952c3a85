/** A name as nobody can mistake it: what is invisible, or turns the direction of a text, is written out. */
export function visible(name: string): string {
  return name.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu,
    (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`,
  )
}
