/**
 * A headless Chromium for tests of pages; Debian's, installed where that is possible. It is the part of Chromium that
 * has no windows: a start and five pages take 1.6 s of processor time, and 5.2 s in the whole program.
 */
import { type Browser, chromium } from 'playwright-core'
import { program } from './programs.ts'

/** It asks nothing of any network by itself. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Takes as long as INSTALL_MS where Chromium is missing. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: program('chromium-headless-shell'), headless: true, args: ARGUMENTS })
}
