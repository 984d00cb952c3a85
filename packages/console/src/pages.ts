/** The pages: their addresses, the letters that open them, and what each asks the policy for. The build reads it too. */

export interface PageInfo {
  readonly id: string
  readonly path: string
  readonly title: string
  /** Pressed after `g`. */
  readonly letter: string
  /** Of `system/policy`: who lacks it sees a sentence in place of the page. */
  readonly action: 'read' | 'explain' | 'read-decisions' | 'draft'
  readonly about: string
}

/** Where an OpenID provider leads back to. */
export const SIGNED_IN = '/signed-in'

export const PAGES = [
  {
    id: 'overview',
    path: '/',
    title: 'Overview',
    letter: 'o',
    action: 'read',
    about: 'the policy in force, its findings and guarantees',
  },
  {
    id: 'access',
    path: '/access',
    title: 'Access',
    letter: 'a',
    action: 'read',
    about: 'the matrix: caller by action',
  },
  {
    id: 'ask',
    path: '/ask',
    title: 'Ask',
    letter: 'k',
    action: 'explain',
    about: 'why a request is allowed or refused',
  },
  {
    id: 'who',
    path: '/who',
    title: 'Who',
    letter: 'w',
    action: 'explain',
    about: 'who can do it, and what a person can do',
  },
  {
    id: 'decisions',
    path: '/decisions',
    title: 'Decisions',
    letter: 'd',
    action: 'read-decisions',
    about: 'what was decided, by record',
  },
  {
    id: 'draft',
    path: '/draft',
    title: 'Draft',
    letter: 'f',
    action: 'draft',
    about: 'change a copy of the files, and see what it means',
  },
  {
    id: 'tests',
    path: '/tests',
    title: 'Tests',
    letter: 't',
    action: 'read',
    about: 'matrices of expected answers: change them, run them, and see what they miss',
  },
  {
    id: 'usage',
    path: '/usage',
    title: 'Usage',
    letter: 'u',
    action: 'read-decisions',
    about: 'which lines requests needed',
  },
  {
    id: 'changes',
    path: '/changes',
    title: 'Changes',
    letter: 'c',
    action: 'read',
    about: 'versions, and proposals that wait',
  },
  {
    id: 'review',
    path: '/review',
    title: 'Review',
    letter: 'r',
    action: 'explain',
    about: 'confirm and revoke what people can do, line by line',
  },
] as const satisfies readonly PageInfo[]

export type PageId = (typeof PAGES)[number]['id']
