/** Numbers as their decimal text says them: exact, where binary arithmetic would round (0.1 + 0.2). */

export interface Decimal {
  readonly digits: bigint
  /** As a power of ten. */
  readonly exponent: number
}

/** `value`: a number, which counts as its shortest decimal text, or a text in JSON's form of numbers. */
export function decimalOf(value: number | string): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split(/e/i)
  const [whole, fraction = ''] = mantissa.split('.')
  return { digits: BigInt(`${whole}${fraction}`), exponent: Number(exponent) - fraction.length }
}

/** The digits as a multiple of another power of ten, which must not be larger than the number's own. */
export function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to)
}

/** All digits, without an exponent and without zeros that say nothing. */
export function decimalText({ digits, exponent }: Decimal): string {
  if (exponent >= 0) return String(scaled({ digits, exponent }, 0))
  const [sign, plain] = digits < 0n ? ['-', String(-digits)] : ['', String(digits)]
  const padded = plain.padStart(1 - exponent, '0')
  const fraction = padded.slice(exponent).replace(/0+$/, '')
  return `${sign}${padded.slice(0, exponent)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Digits of a quotient before it is rounded to a double, which has 17. */
const PRECISE = 40

/** The double nearest to the quotient. */
export function divided({ digits, exponent }: Decimal, by: number): number {
  const divisor = BigInt(by)
  const more = Math.max(0, PRECISE - String(digits).length + String(by).length)
  const dividend = scaled({ digits, exponent: more }, 0)
  const quotient = dividend / divisor
  // A digit that stands for all that follow, so that nothing is taken for the middle of two doubles.
  const rest = dividend % divisor === 0n ? '' : '1'
  return Number(`${quotient}${rest}e${exponent - more - rest.length}`)
}

/** A sum that doesn't depend on the order of its numbers. */
export class DecimalSum {
  #whole = 0
  readonly #byExponent = new Map<number, bigint>()

  add(value: number): void {
    // Most numbers are whole and small, and most sums of them too.
    if (Number.isSafeInteger(value) && Number.isSafeInteger(this.#whole + value)) {
      this.#whole += value
      return
    }
    const { digits, exponent } = decimalOf(value)
    this.#byExponent.set(exponent, (this.#byExponent.get(exponent) ?? 0n) + digits)
  }

  get total(): Decimal {
    const exponent = Math.min(0, ...this.#byExponent.keys())
    const parts = [...this.#byExponent].map(([own, digits]) => scaled({ digits, exponent: own }, exponent))
    return { digits: parts.reduce((a, b) => a + b, scaled(decimalOf(this.#whole), exponent)), exponent }
  }
}
