/**
 * CI_SEED makes random tests draw the same inputs again: a run of one commit can be repeated, and each commit tries others.
 * Without it every run draws anew.
 */
import fc from 'fast-check'

const { CI_SEED } = process.env

if (CI_SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(CI_SEED) })
