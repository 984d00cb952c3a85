/**
 * A network of its own for one program (a namespace of Linux), of which a test cuts one side: the program no longer
 * reaches its peers, but clients still reach it. Needs root.
 */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { program } from './programs.ts'

export interface OwnNetwork {
  /** Before the command line of the program. */
  readonly within: readonly string[]
  /** The address of the program. */
  readonly host: string
  /** The address of its peers, who must also come from there. */
  readonly peers: string
  cut(): void
  heal(): void
  remove(): void
}

export function makeNetwork(): OwnNetwork {
  const nth = randomInt(0, 65_536)
  const name = `sallyport-${nth}`
  const [here, there] = [`sph${nth}`, `spt${nth}`]
  const address = (last: number) => `10.${77 + (nth % 50)}.${nth % 256}.${((nth >> 8) % 32) * 8 + last}`
  const [clients, host, peers] = [address(1), address(2), address(3)]
  const [ip, iptables] = [program('ip'), program('iptables')]
  const within = [ip, 'netns', 'exec', name]
  const run = (...[command = '', ...args]: readonly string[]) => execFileSync(command, args, { stdio: 'pipe' })
  run(ip, 'netns', 'add', name)
  run(ip, 'link', 'add', here, 'type', 'veth', 'peer', 'name', there)
  run(ip, 'link', 'set', there, 'netns', name)
  for (const own of [clients, peers]) run(ip, 'address', 'add', `${own}/29`, 'dev', here)
  run(ip, 'link', 'set', here, 'up')
  run(...within, ip, 'address', 'add', `${host}/29`, 'dev', there)
  for (const device of [there, 'lo']) run(...within, ip, 'link', 'set', device, 'up')
  const filter = (how: string) => {
    run(...within, iptables, how, 'INPUT', '-s', peers, '-j', 'DROP')
    run(...within, iptables, how, 'OUTPUT', '-d', peers, '-j', 'DROP')
  }
  return {
    within,
    host,
    peers,
    cut: () => filter('-A'),
    heal: () => filter('-D'),
    remove: () => {
      run(ip, 'link', 'delete', here)
      run(ip, 'netns', 'delete', name)
    },
  }
}
