/** How a question of the client ended. */
import { expect } from 'chai'
import { AuthzenError } from '../../packages/client/src/index.ts'

export async function errorOf(asked: Promise<unknown>): Promise<AuthzenError> {
  try {
    await asked
  } catch (error) {
    expect(error).to.be.instanceOf(AuthzenError)
    return error as AuthzenError
  }
  throw new Error('there was no error')
}

/** Undefined: there was an answer. */
export async function codeOf(asked: Promise<unknown>): Promise<string | undefined> {
  try {
    await asked
    return undefined
  } catch (error) {
    expect(error).to.be.instanceOf(AuthzenError)
    return (error as AuthzenError).code
  }
}
