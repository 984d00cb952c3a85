/** A policy that the check can't decide, as it then says, is passed over. Tests count these: they must be few. */

export class NotDecided extends Error {}

export class Deciding {
  private asked = 0
  private undecided = 0

  /** What the check tells of one policy; undefined where it says that it can't decide. */
  ask<T>(tell: () => T): T | undefined {
    this.asked++
    try {
      return tell()
    } catch (error) {
      if (!(error instanceof NotDecided)) throw error
      this.undecided++
      return undefined
    }
  }

  /** At most one in twenty, and one more where few were asked. */
  get isMostlyDecided(): boolean {
    return this.undecided <= 1 + this.asked / 20
  }
}
