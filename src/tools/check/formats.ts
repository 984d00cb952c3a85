/** The findings of a policy check as text, JSON and SARIF. */
import { findingFormats } from '../../present/findings.ts'
import { CODES } from './catalogue.ts'

export const CHECK_FORMATS = findingFormats('policy check', [...CODES.values()])
