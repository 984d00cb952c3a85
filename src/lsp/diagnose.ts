/** Tells an editor what is wrong in the files of its projects, soon after each change. */
import { DiagnosticSeverity, type PublishDiagnosticsParams, type Diagnostic as Shown } from 'vscode-languageserver'
import type { Diagnostic } from '../base/diagnostic.ts'
import type { EditedProject } from './edited-project.ts'
import { type FoundInFiles, findInMatrices, findInProject } from './findings.ts'
import { rangesIn } from './ranges.ts'
import { tooLarge, type Workspace } from './workspace.ts'

/** Bounds of the pause between a change and its check, in milliseconds: it is a quarter as long as the last check. */
const [LEAST_WAIT_MS, MOST_WAIT_MS] = [20, 300]
/** A prediction of all cells waits until nobody has typed for this long. */
const QUIET_MS = 300

type Step = 'check' | 'predict'

interface Editor {
  publish(diagnostics: PublishDiagnosticsParams): void
  /** Shows a message to the user. */
  complain(message: string): void
}

/** Of one project. */
interface Underway {
  timer: NodeJS.Timeout | undefined
  running: boolean
  /** Something changed since the check began. */
  stale: boolean
  tookMs: number
  policy: FoundInFiles
  matrices: FoundInFiles
  /** By path: what the editor was told last. */
  readonly told: Map<string, string>
  complaint: string | undefined
}

export class Diagnoser {
  readonly #workspace: Workspace
  readonly #editor: Editor
  readonly #underway = new Map<EditedProject, Underway>()

  constructor(workspace: Workspace, editor: Editor) {
    this.#workspace = workspace
    this.#editor = editor
  }

  changed(project: EditedProject): void {
    const state = this.#underway.getOrInsertComputed(project, idle)
    if (state.running) state.stale = true
    else this.#wait(project, state, Math.min(Math.max(state.tookMs / 4, LEAST_WAIT_MS), MOST_WAIT_MS))
  }

  #wait(project: EditedProject, state: Underway, ms: number, step: Step = 'check'): void {
    clearTimeout(state.timer)
    state.timer = setTimeout(() => void this.#run(project, state, step), ms)
  }

  async #run(project: EditedProject, state: Underway, step: Step): Promise<void> {
    state.running = true
    state.stale = false
    try {
      if (step === 'check') await this.#check(project, state)
      else await this.#predict(project, state)
      state.complaint = undefined
    } catch (error) {
      // The next change may put it right.
      this.#complain(state, error)
    } finally {
      state.running = false
    }
    if (state.stale) this.changed(project)
    else if (step === 'check') this.#wait(project, state, QUIET_MS, 'predict')
  }

  async #check(project: EditedProject, state: Underway): Promise<void> {
    const began = performance.now()
    state.policy =
      this.#tooLarge(project) ?? (await findInProject(await this.#read(project), project.folders, Date.now()))
    state.tookMs = performance.now() - began
    this.#tell(state)
  }

  async #predict(project: EditedProject, state: Underway): Promise<void> {
    if (this.#tooLarge(project)) return
    const isStale = () => state.stale
    const found = await findInMatrices(await this.#read(project), project.folders, { now: Date.now(), isStale })
    if (isStale()) return
    state.matrices = found
    this.#tell(state)
  }

  #read(project: EditedProject) {
    return project.read(this.#workspace.openTexts())
  }

  #tooLarge(project: EditedProject): FoundInFiles | undefined {
    const large = [...this.#workspace.openTexts()].flatMap(([path, text]) => {
      const why = project.has(path) ? tooLarge(path, text) : undefined
      return why === undefined ? [] : [[path, { text: '', findings: [unchecked(path, why)] }] as const]
    })
    return large.length === 0 ? undefined : new Map(large)
  }

  #tell(state: Underway): void {
    const found = new Map([...state.matrices, ...state.policy])
    for (const path of new Set([...state.told.keys(), ...found.keys()])) {
      const { text = '', findings = [] } = found.get(path) ?? {}
      const rangeOf = findings.length > 0 ? rangesIn(text) : undefined
      const diagnostics = findings.flatMap((finding) => (rangeOf ? [shownAs(finding, rangeOf(finding))] : []))
      // With the version, an editor that has changed the text meanwhile knows that the places are old.
      const document = this.#workspace.documentAt(path)
      const version = document && document.getText() === text ? { version: document.version } : {}
      const telling = JSON.stringify({ diagnostics, ...version })
      const before = state.told.get(path)
      if (telling === before || (before === undefined && diagnostics.length === 0)) continue
      state.told.set(path, telling)
      this.#editor.publish({ uri: this.#workspace.uriOf(path), diagnostics, ...version })
    }
  }

  /** Once, as long as it stays the same. */
  #complain(state: Underway, error: unknown): void {
    const { name, message, stack } = error as Error
    const complaint = name === 'ToolError' ? message : (stack ?? message)
    if (complaint !== state.complaint) this.#editor.complain(complaint)
    state.complaint = complaint
  }
}

function idle(): Underway {
  const nothing = { policy: new Map(), matrices: new Map(), told: new Map() }
  return { timer: undefined, running: false, stale: false, tookMs: 0, complaint: undefined, ...nothing }
}

const SEVERITIES = { error: DiagnosticSeverity.Error, warning: DiagnosticSeverity.Warning } as const

/** With the words of the command: the message, and below it the hint, which fixes.ts reads. */
function shownAs({ severity, code, message, hint }: Diagnostic, range: Shown['range']): Shown {
  const text = hint === undefined ? message : `${message}\n${hint}`
  return { range, severity: SEVERITIES[severity], code, source: 'sallyport', message: text }
}

function unchecked(file: string, why: string): Diagnostic {
  const message = `${why}, so nothing is checked here`
  const hint = 'close it, and run `sallyport policy check`'
  return { file, line: 1, column: 1, code: 'file-unreadable', severity: 'error', message, hint }
}
