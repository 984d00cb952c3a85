/** The keys, and what each page is for. */
import { PAGES } from '../pages.ts'
import { Dialog } from './dialog.tsx'

const KEYS: readonly (readonly [string, string])[] = [
  ['?', 'this help'],
  ['/', 'to the filter of the page'],
  ['arrows', 'between the cells and rows of a list'],
  ['Enter', 'opens the cell or the row'],
  ['Ctrl Space', 'offers names, in the text of a draft'],
  ['Escape', 'closes what is open'],
]

export function Help({ close }: { readonly close: () => void }) {
  return (
    <Dialog label="Help with keys" close={close}>
      <h2>Keys</h2>
      <dl class="keys">
        {PAGES.map(({ letter, title, about }) => (
          <Key key={letter} keys={`g ${letter}`} about={`${title}: ${about}`} />
        ))}
        {KEYS.map(([keys, about]) => (
          <Key key={keys} keys={keys} about={about} />
        ))}
      </dl>
      <p>Everything that the console shows is also a command; each page has it to copy.</p>
      <button type="button" onClick={close}>
        Close
      </button>
    </Dialog>
  )
}

function Key({ keys, about }: { readonly keys: string; readonly about: string }) {
  return (
    <>
      <dt>
        {keys.split(' ').map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{about}</dd>
    </>
  )
}
