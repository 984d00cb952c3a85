/** LOG_WITNESS and LOG_WITNESS_KEY: the witness that the decision log shows its checkpoints to. */
import { againWith } from '../base/problems/fix.ts'
import { readWitnessKey } from '../decision-log/tree/signed-note.ts'
import type { WitnessPlace } from '../decision-log/tree/witness.ts'
import { ConfigError } from './values.ts'

/** Undefined without LOG_WITNESS. Throws ConfigError. */
export function readWitnessPlace(env: (name: string) => string | undefined): WitnessPlace | undefined {
  const [text, keyText] = [env('LOG_WITNESS'), env('LOG_WITNESS_KEY')]
  if (text === undefined && keyText === undefined) return undefined
  if (text === undefined) {
    throw new ConfigError('LOG_WITNESS_KEY is set without LOG_WITNESS; set LOG_WITNESS, or unset LOG_WITNESS_KEY')
  }
  if (keyText === undefined) {
    throw new ConfigError('LOG_WITNESS is set without LOG_WITNESS_KEY; set LOG_WITNESS_KEY, or unset LOG_WITNESS')
  }
  if (env('DECISION_LOG_FILE') === '-') {
    throw new ConfigError('LOG_WITNESS needs a log in a file, and DECISION_LOG_FILE is -; unset one of them')
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    const fix = againWith('LOG_WITNESS', "'https://<host>/<path>'")
    throw new ConfigError('LOG_WITNESS is no address; set it to one like https://witness.example.com/log', fix)
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  const key = readWitnessKey(keyText)
  if (key) return Object.freeze({ url, key })
  throw new ConfigError(
    'LOG_WITNESS_KEY is no key of a witness; set it to its verifier key, like witness.example.com+…+BA…',
  )
}
